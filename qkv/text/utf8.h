// UTF-8: is it valid, where is it not, and to code points and back.
//
//     if (auto at = utf8_error(line)) fail<InputError>("read", "invalid UTF-8 at byte {}", *at + 1);
//     std::u32string points = utf8_decode("\xc3\xa9t\xc3\xa9");         // three code points
//     std::string same = utf8_encode(points);
//
// Valid is what the Unicode Standard (table 3-7) calls well-formed: no overlong form, no surrogate, nothing above
// U+10FFFF. Decoding never fails: a byte that belongs to no valid sequence becomes invalid_byte + the byte, a value
// above every code point, equal to nothing but the same stray byte; encoding turns it back into that byte. So any
// bytes survive the way there and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace qkv {

inline constexpr char32_t invalid_byte = 0x110000;

// The number of bytes (1 to 4) of the valid sequence that text begins with, and its code point; {0, 0} if there is
// none.
struct CodePoint {
  size_t bytes;
  char32_t value;
};
CodePoint utf8_first(std::string_view text);

std::optional<size_t> utf8_error(std::string_view text);  // byte offset of the first error, counted from 0
int64_t utf8_length(std::string_view text);               // code points; every stray byte counts as one
std::u32string utf8_decode(std::string_view text);
std::string utf8_encode(std::u32string_view points);

// What a terminal would obey, or what would end a line, made visible: the bytes of control characters (U+0000 to
// U+001F and U+007F to U+009F) and of what is not UTF-8 as <0x1B>, the way SentencePiece writes bytes. Characters
// in `keep` stay as they are.
std::string escape_controls(std::string_view text, std::string_view keep = "");

}  // namespace qkv
