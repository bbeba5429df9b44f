#include "qkv/text/chat_template/literal.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "qkv/text/chat_template/template_error.h"
#include "qkv/text/utf8.h"

namespace qkv::jinja {
namespace {

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

char32_t digits(std::string_view body, size_t& at, size_t size, int base, int line) {
  char32_t point = 0;
  for (const size_t end = at + size; at < end; ++at) {
    if (at >= body.size() || digit_value(body[at]) >= base)
      template_error_at(line, "a string has an escape of fewer than {} digits", size);
    point = point * static_cast<char32_t>(base) + static_cast<char32_t>(digit_value(body[at]));
  }
  return point;
}

// The bytes from the start that are digits, which may be separated by single underscores.
size_t digit_run(std::string_view text, int base) {
  size_t size = 0;
  while (size < text.size()) {
    const bool separated = text[size] == '_' && size > 0 && size + 1 < text.size();
    if (digit_value(text[size + (separated ? 1 : 0)]) >= base) break;
    size += separated ? 2 : 1;
  }
  return size;
}

std::string without_underscores(std::string_view text) {
  std::string out(text);
  std::erase(out, '_');
  return out;
}

NumberLiteral integer_literal(std::string_view text, size_t prefix, size_t size, int base, int line) {
  const std::string number = without_underscores(text.substr(prefix, size));
  NumberLiteral out{.size = prefix + size};
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), out.integer, base);
  if (error != std::errc()) template_error_at(line, "the integer {} has more than 64 bits", number.substr(0, 40));
  return out;
}

}  // namespace

std::string unescaped(std::string_view body, int line) {
  constexpr std::string_view names = "\n\\'\"abfnrtv", values = "\0\\'\"\a\b\f\n\r\t\v";
  std::string out;
  for (size_t at = 0; at < body.size();) {
    if (body[at] != '\\' || at + 1 >= body.size()) {
      out.push_back(body[at++]);
      continue;
    }
    const char c = body[at + 1];
    at += 2;
    if (c == '\n') continue;  // the line goes on
    std::optional<char32_t> point;
    if (c == 'x' || c == 'u' || c == 'U') {
      point = digits(body, at, c == 'x' ? 2 : c == 'u' ? 4 : 8, 16, line);
    } else if (c >= '0' && c <= '7') {
      size_t size = 1;
      while (size < 3 && at - 1 + size < body.size() && digit_value(body[at - 1 + size]) < 8) ++size;
      --at;
      point = digits(body, at, size, 8, line);
    } else if (c == 'N') {
      template_error_at(line, "the escape \\N{{name}} is not supported; write \\uXXXX");
    } else if (const size_t known = names.find(c); known != std::string_view::npos) {
      out.push_back(values[known]);
    } else {
      out += {'\\', c};
    }
    if (!point) continue;
    if (*point > 0x10ffff || (*point >= 0xd800 && *point <= 0xdfff))
      template_error_at(line, "a string has the escape of U+{:X}, which is not a character",
                        static_cast<uint32_t>(*point));
    out += utf8_encode(std::u32string(1, *point));
  }
  return out;
}

NumberLiteral number_at(std::string_view text, bool may_be_float, int line) {
  const size_t whole = digit_run(text, 10);
  if (may_be_float) {
    size_t size = whole;
    if (size + 1 < text.size() && text[size] == '.' && digit_value(text[size + 1]) < 10)
      size += 1 + digit_run(text.substr(size + 1), 10);
    if (size < text.size() && (text[size] == 'e' || text[size] == 'E')) {
      const size_t sign = size + 1 < text.size() && (text[size + 1] == '+' || text[size + 1] == '-') ? 1 : 0;
      const size_t exponent = digit_run(text.substr(std::min(text.size(), size + 1 + sign)), 10);
      if (exponent > 0) size += 1 + sign + exponent;
    }
    if (size > whole) {
      const std::string number = without_underscores(text.substr(0, size));
      NumberLiteral out{.size = size, .is_float = true};
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), out.floating);
      if (error != std::errc()) template_error_at(line, "the number {} is out of range", number.substr(0, 40));
      return out;
    }
  }
  if (text.size() > 2 && text[0] == '0') {
    const char kind = static_cast<char>(text[1] | 0x20);
    const int base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
    const size_t size = base == 0 ? 0 : digit_run(text.substr(2), base);
    if (size > 0) return integer_literal(text, 2, size, base, line);
  }
  if (text[0] == '0')
    return {.size = std::min(whole, without_underscores(text.substr(0, whole)).find_first_not_of('0'))};
  return integer_literal(text, 0, whole, 10, line);
}

}  // namespace qkv::jinja
