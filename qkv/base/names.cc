#include "qkv/base/names.h"

#include <algorithm>

namespace qkv {
namespace {

// The number of letters to insert, delete, replace or swap with their neighbor (Damerau, 1964; optimal string
// alignment).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before = last;
    last = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j - 1] + (a[i - 1] != b[j - 1]), last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

}  // namespace

std::string one_line(std::string_view text, size_t max_bytes) {
  std::string out;
  size_t length = std::min(text.size(), max_bytes);
  while (length > 0 && length < text.size() && (text[length] & 0xc0) == 0x80) --length;  // whole characters
  for (size_t i = 0; i < length; ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool high = i > 0 && text[i - 1] == '\xc2' && (c & 0xe0) == 0x80;  // U+0080 to U+009F, of two bytes
    if (high) out.replace(out.size() - 1, 1, "\\xc2");
    if (high || c < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", c);
    } else {
      out += text[i];
    }
  }
  if (text.size() > length) out += "...";
  return out;
}

std::string QuotedName::text() const { return fmt::format("'{}'", one_line(name)); }

std::string name_list(std::span<const std::string_view> names, std::string_view separator) {
  std::string out;
  for (const std::string_view name : names) (out += out.empty() ? "" : separator) += name;
  return out;
}

std::string name_list(std::span<const std::string> names, std::string_view separator) {
  return name_list(std::vector<std::string_view>(names.begin(), names.end()), separator);
}

std::optional<std::string_view> nearest(std::string_view given, std::span<const std::string_view> known) {
  constexpr size_t max_length = 100;
  if (given.size() > max_length) return {};  // the number of comparisons grows with its length
  std::optional<std::string_view> best;
  size_t min_distance = given.size() / 3 + 2;  // too many changes
  const std::string typed = lower_case(given);
  for (const std::string_view name : known) {
    const std::string candidate = lower_case(name);
    const bool begun = typed.size() >= 3 && typed != candidate && candidate.starts_with(typed);
    const size_t changes = begun ? 1 : distance(typed, candidate);
    if (changes >= min_distance || 2 * changes > std::max(given.size(), name.size())) continue;
    min_distance = changes;
    best = name;
  }
  return best;
}

std::string did_you_mean(std::string_view given, std::span<const std::string_view> known, std::string_view before) {
  const auto name = nearest(given, known);
  return name ? fmt::format("; did you mean {}{}?", before, *name) : "";
}

}  // namespace qkv
