// Character classes and lower case: as much of Unicode as tokenizers and metrics need.
//
//     is_punctuation(U'?')          // true: general categories P*; is_number: N*; is_symbol: S*
//     lowercase(U"\u00c9TUDE")      // as Python's str.lower()
//     words(U" one  two ")          // {"one", "two"}: split at white space
//
// The tables (unicode_tables.cc) are made by script/unicode-tables. Values above U+10FFFF (the stray bytes of
// utf8_decode) belong to no category and have no small letter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace qkv {

bool is_space(char32_t point);
bool is_punctuation(char32_t point);
bool is_number(char32_t point);
bool is_symbol(char32_t point);

// Full lower-casing: U+0130 becomes two code points, a capital sigma at the end of a word becomes a final sigma.
std::u32string lowercase(std::u32string_view text);

// The runs of characters between white space, as views into text.
std::vector<std::u32string_view> words(std::u32string_view text);

// Whether UTF-8 text has only white space and characters that normalisation by NFKC removes: control characters,
// zero-width spaces, the byte order mark, U+2581 (SentencePiece's space), bytes that are not UTF-8.
bool is_blank(std::string_view text);

}  // namespace qkv
