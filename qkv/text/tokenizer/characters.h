// Classes of characters as tokenizers know them, by utf8proc (Unicode 15).
#pragma once

#include <string>
#include <string_view>

namespace qkv {

bool is_white_space(char32_t c);  // the property White_Space
bool is_word_character(
    char32_t c);              // \w of Rust: alphabetic characters, marks, decimal digits, connectors, joiners
bool is_numeric(char32_t c);  // categories Nd, Nl, No
bool is_mark(char32_t c);     // categories M*
bool is_nonspacing_mark(char32_t c);
bool is_control(char32_t c);                         // categories C*, but for code points without a character
bool is_punctuation_or_symbol_of_ascii(char32_t c);  // category P*, or what ASCII has of P* and S*
std::string lower_case(char32_t c);                  // U+0130 becomes two characters

enum class NormalizationForm { nfc, nfd, nfkc, nfkd };
// n log n in the longest run of marks, else linear.
std::string normalized(std::string_view text, NormalizationForm form);
bool has_decomposition(
    char32_t c);  // canonical or compatible; without one, a character alone is in every normal form
// Whether the tables of the published tokenizers know the character; if not, it stays as it is and where it is.
bool has_normal_form(char32_t c);
// Whether normalisation of what precedes this character is independent of it.
bool begins_normalization(char32_t c, NormalizationForm form);

// The size of the grapheme cluster at the start of the text.
size_t first_grapheme(std::string_view text);

}  // namespace qkv
