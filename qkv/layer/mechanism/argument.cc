#include "qkv/layer/mechanism/argument.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "qkv/base/names.h"

namespace qkv {
namespace {

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::optional<std::vector<double>> list_of(std::string_view text) {
  std::vector<double> values;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('/', begin), text.size());
    const std::optional<double> value = number_of(text.substr(begin, end - begin));
    if (!value) return {};
    values.push_back(*value);
    begin = end + 1;
  }
  return values;
}

}  // namespace

bool MechanismArgument::allows(const Value& value) const {
  const auto in_range = [&](double x) { return x >= minimum && x <= maximum; };
  switch (kind) {
    case Kind::number: return in_range(std::get<double>(value));
    case Kind::integer:
      return in_range(std::get<double>(value)) && std::floor(std::get<double>(value)) == std::get<double>(value);
    case Kind::choice: return std::ranges::find(choices, std::get<std::string>(value)) != choices.end();
    case Kind::list: return std::ranges::all_of(std::get<std::vector<double>>(value), in_range);
  }
  return false;
}

std::optional<MechanismArgument::Value> MechanismArgument::value_of(std::string_view text) const {
  std::optional<Value> value;
  if (kind == Kind::choice)
    value = std::string(text);
  else if (kind == Kind::list)
    value = list_of(text);
  else
    value = number_of(text);
  if (value && !allows(*value)) value.reset();
  return value;
}

std::string MechanismArgument::error(std::string_view given) const {
  if (kind == Kind::choice)
    return fmt::format("{} must be one of {}, got {}{}", name, name_list(choices), quoted_name(given),
                       did_you_mean(given, choices));
  if (kind == Kind::list)
    return fmt::format("{} must be numbers from {} to {} joined by /, got {}", name, number_text(minimum),
                       number_text(maximum), quoted_name(given));
  return fmt::format("{} must be {} from {} to {}, got {}", name, kind == Kind::integer ? "an integer" : "a number",
                     number_text(minimum), number_text(maximum), quoted_name(given));
}

std::string value_text(const MechanismArgument::Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return number_text(*number);
  if (const auto* choice = std::get_if<std::string>(&value)) return *choice;
  std::string text;
  for (const double number : std::get<std::vector<double>>(value))
    text += fmt::format("{}{}", text.empty() ? "" : "/", number_text(number));
  return text;
}

std::string number_text(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15)
    return fmt::format("{}", static_cast<int64_t>(number));
  return fmt::format("{}", number);
}

}  // namespace qkv
