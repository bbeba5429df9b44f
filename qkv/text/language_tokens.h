// The languages of a multilingual model: tokens of its vocabulary that begin a text.
//
//     language_token(nllb, "deu_Latn", "target-language")                     // its id
//     language_token(m2m100, "de", "target-language")                         // the id of "__de__"; ">>de<<" in Marian
//
// A language is an added token that is written like one, not a piece of text that happens to be "de". Errors:
// UsageError, naming the option and the nearest language, for an unknown name and for a model without languages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qkv/text/tokenizer.h"

namespace qkv {

int32_t language_token(const Tokenizer& tokenizer, const std::string& language, const char* option);

// Their tokens, by id.
std::vector<std::string> language_tokens(const Tokenizer& tokenizer);

}  // namespace qkv
