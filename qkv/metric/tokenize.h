// The tokenizers of BLEU, which split a line of plain text into the words that are compared. Scores are comparable
// only with the same tokenizer.
//
//     tokenize("It's 3.14, not 3,14!", BleuTokenizer::wmt13a)         // "It's 3.14 , not 3,14 !"
//
//     wmt13a          mteval-v13a.pl of NIST, the standard of WMT: separates Western punctuation, except in numbers
//     international   mteval-v14.pl: separates all Unicode punctuation (except between numbers) and symbols
//     character       every character is a word
//     none            splits at white space only: for tokenized text
//
// Equal to sacreBLEU's 13a, intl, char and none. Any bytes are accepted: a byte that is not UTF-8 is a character of
// its own.
#pragma once

#include <string>
#include <string_view>

#include "qkv/base/names.h"

namespace qkv {

enum class BleuTokenizer { wmt13a, international, character, none };
constexpr auto names_of(BleuTokenizer) {  // those of sacreBLEU
  return std::array{Named{BleuTokenizer::wmt13a, "13a"}, Named{BleuTokenizer::international, "intl"},
                    Named{BleuTokenizer::character, "char"}, Named{BleuTokenizer::none, "none"}};
}

// Words separated by single spaces.
std::string tokenize(std::string_view line, BleuTokenizer tokenizer);
std::u32string tokenize(std::u32string_view line, BleuTokenizer tokenizer);

}  // namespace qkv
