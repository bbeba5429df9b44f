// Literals of the template language: numbers, and the escapes of strings, as in Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace qkv::jinja {

// The value of a string literal without its quotes. TemplateError for a malformed escape, a surrogate and \N{name}.
std::string unescaped(std::string_view body, int line);

struct NumberLiteral {
  size_t size = 0;  // bytes of the source
  bool is_float = false;
  int64_t integer = 0;
  double floating = 0;
};
// `text` begins with a digit. 12, 1_000, 0x1f, 0o17, 0b11, and unless after a dot 1.5, 1e3.
NumberLiteral number_at(std::string_view text, bool may_be_float, int line);

}  // namespace qkv::jinja
