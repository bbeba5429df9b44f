#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "test/damaged_folders/change.h"
#include "test/damaged_folders/safetensors_header.h"

namespace qkv::test {
namespace {

constexpr std::array extreme_numbers = {
    "0",
    "-1",
    "1",
    "2",
    "3",
    "-0",
    "0.5",
    "255",
    "256",
    "65535",
    "65536",
    "1000000",
    "16777216",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "4611686018427387904",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e-320",
    "1e308",
    "1e999",
    "-1e999",
    "null",
    "true",
    "\"7\"",
    "[]",
    "{}",
    "[[[[]]]]",
    "99999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999"};

struct Number {
  size_t begin, length;
};
std::vector<Number> numbers_in(std::string_view text) {
  const auto is_digit = [&](size_t i) { return std::isdigit(static_cast<unsigned char>(text[i])) != 0; };
  std::vector<Number> numbers;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(i)) continue;
    const size_t begin = i;
    while (i < text.size() && (is_digit(i) || text[i] == '.')) ++i;
    numbers.push_back({begin, i - begin});
  }
  return numbers;
}

}  // namespace

std::string replace_number(std::string& bytes, Random& random) {
  const auto header = header_size(bytes);
  std::string text = header ? bytes.substr(header_begin, *header) : bytes;
  const std::vector<Number> numbers = numbers_in(text);
  if (numbers.empty()) return "";
  const auto [begin, length] = one_of(numbers, random);
  const std::string was = text.substr(begin, length), is = one_of(extreme_numbers, random);
  text.replace(begin, length, is);
  if (header) {
    set_header(bytes, text);
  } else {
    bytes = text;
  }
  return fmt::format("number {} at byte {} is now {}", was, begin, is);
}

std::string change_line(std::string& bytes, Random& random) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < bytes.size();) {
    const size_t end = std::min(bytes.find('\n', begin), bytes.size() - 1) + 1;
    lines.push_back(bytes.substr(begin, end - begin));
    begin = end;
  }
  if (lines.size() < 2) return "";
  const size_t at = below(lines.size(), random), other = below(lines.size(), random);
  std::string what;
  switch (random.below(4)) {
    case 0: what = "removed", lines[at].clear(); break;
    case 1: what = "once more", lines[at] += lines[at]; break;
    case 2: what = fmt::format("a copy of line {}", other + 1), lines[at] = lines[other]; break;
    default: what = fmt::format("swapped with line {}", other + 1), std::swap(lines[at], lines[other]); break;
  }
  bytes = fmt::format("{}", fmt::join(lines, ""));
  return fmt::format("line {} {}", at + 1, what);
}

}  // namespace qkv::test
