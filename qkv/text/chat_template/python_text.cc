#include "qkv/text/chat_template/python_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utf8proc.h>

#include <fmt/format.h>

#include "qkv/text/unicode.h"
#include "qkv/text/utf8.h"

namespace qkv::jinja {
namespace {

utf8proc_category_t category(char32_t point) { return utf8proc_category(static_cast<utf8proc_int32_t>(point)); }

// The character that ends at `end`.
CodePoint last_character(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) --begin;
  return utf8_first(text.substr(begin));
}

template <class Removes>
std::string_view strip_left(std::string_view text, Removes removes) {
  while (!text.empty()) {
    const CodePoint first = utf8_first(text);
    if (first.bytes == 0 || !removes(first.value, text.substr(0, first.bytes))) break;
    text.remove_prefix(first.bytes);
  }
  return text;
}

template <class Removes>
std::string_view strip_right(std::string_view text, Removes removes) {
  while (!text.empty()) {
    const CodePoint last = last_character(text);
    if (last.bytes == 0 || !removes(last.value, text.substr(text.size() - last.bytes))) break;
    text.remove_suffix(last.bytes);
  }
  return text;
}

bool is_white(char32_t point, std::string_view) { return is_space(point); }

// Capitals that are more than one letter; utf8proc has those that are one.
std::u32string capital(char32_t point) {
  switch (point) {
    case 0xdf: return U"SS";
    case 0x149: return U"\u02bcN";
    case 0x1f0: return U"J\u030c";
    case 0x587: return U"\u0535\u0552";
    case 0xfb00: return U"FF";
    case 0xfb01: return U"FI";
    case 0xfb02: return U"FL";
    case 0xfb03: return U"FFI";
    case 0xfb04: return U"FFL";
    case 0xfb05:
    case 0xfb06: return U"ST";
    default:
      return std::u32string(1, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(point))));
  }
}

std::u32string title_letter(char32_t point) {
  std::u32string letters = capital(point);
  if (letters.size() > 1) return letters.substr(0, 1) + lowercase(letters.substr(1));
  return std::u32string(1, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(point))));
}

bool is_capital(char32_t point) { return category(point) == UTF8PROC_CATEGORY_LU; }
bool is_small(char32_t point) { return category(point) == UTF8PROC_CATEGORY_LL || point == 0xaa || point == 0xba; }
bool is_title(char32_t point) { return category(point) == UTF8PROC_CATEGORY_LT; }
bool has_case(char32_t point) { return is_capital(point) || is_small(point) || is_title(point); }

bool is_letter(char32_t point) {
  const utf8proc_category_t c = category(point);
  return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}

bool is_superscript(char32_t point) {
  return point == 0xb2 || point == 0xb3 || point == 0xb9 || point == 0x2070 ||
         (point >= 0x2074 && point <= 0x2079) || (point >= 0x2080 && point <= 0x2089);
}

bool is_a(char32_t point, CharacterClass kind) {
  const bool decimal = category(point) == UTF8PROC_CATEGORY_ND;
  switch (kind) {
    case CharacterClass::alpha: return is_letter(point);
    case CharacterClass::digit: return decimal || is_superscript(point);
    case CharacterClass::numeric: return is_number(point);
    case CharacterClass::alnum: return is_letter(point) || is_number(point);
    case CharacterClass::space: return is_space(point);
  }
  std::abort();
}

bool is_line_break(char32_t point) {
  return (point >= 0x0a && point <= 0x0d) || (point >= 0x1c && point <= 0x1e) || point == 0x85 || point == 0x2028 ||
         point == 0x2029;
}

bool is_printable(char32_t point) {
  if (point == ' ') return true;
  const utf8proc_category_t c = category(point);
  return c != UTF8PROC_CATEGORY_CN && c < UTF8PROC_CATEGORY_ZS;
}

}  // namespace

std::string_view stripped_left(std::string_view text) { return strip_left(text, is_white); }
std::string_view stripped_right(std::string_view text) { return strip_right(text, is_white); }

std::string_view stripped_left(std::string_view text, std::string_view characters) {
  return strip_left(text, [&](char32_t, std::string_view c) { return characters.find(c) != characters.npos; });
}
std::string_view stripped_right(std::string_view text, std::string_view characters) {
  return strip_right(text, [&](char32_t, std::string_view c) { return characters.find(c) != characters.npos; });
}

size_t byte_offset(std::string_view text, int64_t index) {
  size_t at = 0;
  while (at < text.size()) {
    if ((static_cast<unsigned char>(text[at]) & 0xc0) != 0x80 && index-- == 0) break;
    ++at;
  }
  return at;
}

std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = std::max<size_t>(1, utf8_first(text.substr(at)).bytes);
    out.push_back(text.substr(at, bytes));
    at += bytes;
  }
  return out;
}

std::string upper_case(std::string_view text) {
  std::u32string out;
  for (const char32_t point : utf8_decode(text)) out += capital(point);
  return utf8_encode(out);
}

std::string lower_case(std::string_view text) { return utf8_encode(lowercase(utf8_decode(text))); }

std::string capitalized(std::string_view text) {
  if (text.empty()) return {};
  const CodePoint first = utf8_first(text);
  return utf8_encode(title_letter(first.value)) + lower_case(text.substr(first.bytes));
}

std::string title_case(std::string_view text) {
  std::u32string out;
  bool within_word = false;
  for (const char32_t point : utf8_decode(text)) {
    out += within_word ? lowercase(std::u32string(1, point)) : title_letter(point);
    within_word = has_case(point);
  }
  return utf8_encode(out);
}

std::string swapped_case(std::string_view text) {
  std::u32string out;
  for (const char32_t point : utf8_decode(text))
    out += is_capital(point) ? lowercase(std::u32string(1, point))
           : is_small(point) ? capital(point)
                             : std::u32string(1, point);
  return utf8_encode(out);
}

bool consists_of(std::string_view text, CharacterClass kind) {
  const std::u32string points = utf8_decode(text);
  return !points.empty() && std::all_of(points.begin(), points.end(), [&](char32_t p) { return is_a(p, kind); });
}

bool is_upper_case(std::string_view text) {
  bool cased = false;
  for (const char32_t point : utf8_decode(text)) {
    if (is_small(point) || is_title(point)) return false;
    cased |= is_capital(point);
  }
  return cased;
}

bool is_lower_case(std::string_view text) {
  bool cased = false;
  for (const char32_t point : utf8_decode(text)) {
    if (is_capital(point) || is_title(point)) return false;
    cased |= is_small(point);
  }
  return cased;
}

std::vector<std::string_view> lines_of(std::string_view text, bool with_ends) {
  std::vector<std::string_view> out;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = utf8_first(text.substr(at));
    size_t end = at + std::max<size_t>(1, point.bytes);
    if (is_line_break(point.value)) {
      if (text[at] == '\r' && end < text.size() && text[end] == '\n') ++end;
      out.push_back(text.substr(begin, (with_ends ? end : at) - begin));
      begin = end;
    }
    at = end;
  }
  if (begin < text.size()) out.push_back(text.substr(begin));
  return out;
}

std::vector<std::string_view> split_at_space(std::string_view text, int64_t limit, bool from_right) {
  std::vector<std::string_view> out;
  const auto strip = [&] { text = from_right ? stripped_right(text) : stripped_left(text); };
  for (strip(); !text.empty(); strip()) {
    if (limit >= 0 && static_cast<int64_t>(out.size()) == limit) {
      out.push_back(text);  // with its white space at the other end
      break;
    }
    const auto is_word = [](char32_t point, std::string_view) { return !is_space(point); };
    const std::string_view rest = from_right ? strip_right(text, is_word) : strip_left(text, is_word);
    out.push_back(from_right ? text.substr(rest.size()) : text.substr(0, text.size() - rest.size()));
    text = rest;
  }
  if (from_right) std::reverse(out.begin(), out.end());
  return out;
}

std::string quoted_text(std::string_view text) {
  const bool single = text.find('\'') == text.npos || text.find('"') != text.npos;
  const char quote = single ? '\'' : '"';
  std::string out(1, quote);
  for (const char32_t point : utf8_decode(text)) {
    if (point == static_cast<char32_t>(quote) || point == '\\') {
      out += {'\\', static_cast<char>(point)};
    } else if (point == '\n') {
      out += "\\n";
    } else if (point == '\r') {
      out += "\\r";
    } else if (point == '\t') {
      out += "\\t";
    } else if (is_printable(point)) {
      out += utf8_encode(std::u32string(1, point));
    } else {
      const auto number = static_cast<uint32_t>(point);
      out += number < 0x100     ? fmt::format("\\x{:02x}", number)
             : number < 0x10000 ? fmt::format("\\u{:04x}", number)
                                : fmt::format("\\U{:08x}", number);
    }
  }
  return out + quote;
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer = {};
  const auto written = [&](std::chars_format format) {
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format).ptr;
    return std::string(buffer.data(), end);
  };
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-4 || size >= 1e16)) return written(std::chars_format::scientific);
  std::string out = written(std::chars_format::fixed);
  if (out.find('.') == out.npos) out += ".0";
  return out;
}

}  // namespace qkv::jinja
