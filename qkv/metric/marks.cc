#include "qkv/metric/marks.h"

namespace qkv::metric {

bool is_western_mark(char32_t c) {
  return (c >= U' ' && c <= U'&') || (c >= U'(' && c <= U'+') || c == U'/' || (c >= U':' && c <= U'@') ||
         (c >= U'[' && c <= U'`') || (c >= U'{' && c <= U'~');
}

std::u32string replace_all(std::u32string_view text, std::u32string_view from, std::u32string_view to) {
  std::u32string out;
  for (;;) {
    const size_t at = text.find(from);
    out += text.substr(0, at);
    if (at == text.npos) return out;
    out += to;
    text.remove_prefix(at + from.size());
  }
}

std::u32string unescape(std::u32string_view text) {
  const std::u32string quotes = replace_all(text, U"&quot;", U"\""), ands = replace_all(quotes, U"&amp;", U"&");
  return replace_all(replace_all(ands, U"&lt;", U"<"), U"&gt;", U">");
}

std::u32string isolate_near_digits(std::u32string_view text) {
  const auto no_digit = [](char32_t c) { return !is_digit(c); };
  const auto is_point_or_comma = [](char32_t c) { return c == U'.' || c == U','; };
  const auto is_dash = [](char32_t c) { return c == U'-'; };
  const std::u32string after = isolate_in_pairs(text, no_digit, is_point_or_comma, Mark::second);
  const std::u32string before = isolate_in_pairs(after, is_point_or_comma, no_digit, Mark::first);
  return isolate_in_pairs(before, is_digit, is_dash, Mark::second);
}

}  // namespace qkv::metric
