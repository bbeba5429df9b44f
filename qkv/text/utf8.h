// UTF-8: validation, decoding and encoding.
//
//     if (auto at = utf8_error(line)) fail<InputError>("read", "invalid UTF-8 at byte {}", *at + 1);
//     std::u32string points = utf8_decode("\xc3\xa9t\xc3\xa9");         // three code points
//     std::string same = utf8_encode(points);
//
// Valid means well-formed (Unicode Standard, table 3-7): no overlong form, no surrogate, nothing above U+10FFFF.
// Decoding never fails: a byte outside any valid sequence becomes invalid_byte + the byte, a value above every code
// point; encoding turns it back into that byte. So decoding and encoding give back any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace qkv {

inline constexpr char32_t invalid_byte = 0x110000;

// The size (1 to 4 bytes) of the valid sequence at the start of text, and its code point; {0, 0} if there is none.
struct CodePoint {
  size_t bytes;
  char32_t value;
};
CodePoint utf8_first(std::string_view text);

std::optional<size_t> utf8_error(std::string_view text);  // byte offset of the first error, counted from 0
void check_utf8(std::string_view text);                   // throws InputError
// The size of text without the part of a character that it ends with: 1 to 3 bytes that more bytes could complete.
size_t utf8_complete(std::string_view text);
int64_t utf8_length(std::string_view text);  // code points; every stray byte counts as one
std::u32string utf8_decode(std::string_view text);
std::string utf8_encode(std::u32string_view points);

// Control characters (U+0000 to U+001F, U+007F to U+009F) and bytes that are not UTF-8 written as <0x1B>, the way
// SentencePiece writes bytes, so that a terminal does not interpret them. Characters in `keep` are kept.
std::string escape_controls(std::string_view text, std::string_view keep = "");

}  // namespace qkv
