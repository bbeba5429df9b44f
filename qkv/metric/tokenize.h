// The tokenizers of BLEU: how a line of plain text becomes the words that are compared. They are part of the
// metric, not of a model: scores are comparable only under the same one.
//
//     tokenize("It's 3.14, not 3,14!", BleuTokenizer::wmt13a)         // "It's 3.14 , not 3,14 !"
//
//     wmt13a          mteval-v13a.pl of NIST, the standard of WMT: Western punctuation off, numbers kept whole
//     international   mteval-v14.pl: all Unicode punctuation (unless between numbers) and symbols stand alone
//     character       every character a word
//     none            cut at white space only: for text that is tokenized already
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
