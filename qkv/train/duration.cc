#include "qkv/train/duration.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/base/names.h"

namespace qkv {
namespace {

constexpr std::array<std::pair<char, double>, 4> time_units = {{{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}}};
constexpr double longest_time = 1e9;  // 30 years

// The number and its unit at the beginning of the text, which are removed from it. Below zero: neither.
double take_time(std::string_view& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0)) return -1;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  for (const auto& [unit, seconds] : time_units)
    if (!text.empty() && text.front() == unit) {
      text.remove_prefix(1);
      return number * seconds;
    }
  return -1;
}

}  // namespace

std::optional<Seconds> read_seconds(std::string_view text) {
  if (text == "0") return Seconds(0);
  double sum = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const double part = take_time(rest);
    if (part < 0) return {};
    sum += part;
  }
  if (text.empty() || sum > longest_time) return {};
  return Seconds(sum);
}

Seconds seconds_from_text(std::string_view text, std::string_view where, std::string_view what) {
  const std::optional<Seconds> time = read_seconds(text);
  require<UsageError>(time.has_value(), where,
                      "{} must be a time with its unit, such as 90s, 30m, 2h or 1h30m; got {}", what,
                      quoted_name(text));
  return *time;
}

std::string duration_text(Seconds time) {
  if (time.count() == 0) return "0";
  double rest = time.count();
  std::string text;
  for (const auto& [unit, seconds] : time_units) {
    const double count = unit == 's' ? rest : std::floor(rest / seconds);
    if (count <= 0) continue;
    text += fmt::format("{}{}", count, unit);
    rest -= count * seconds;
  }
  return text;
}

}  // namespace qkv
