// A sentence as a model reads it: its ids and the end of the sentence, cut to the positions that the model has.
//
//     Sentence s = read_sentence(text, tokenizer, {.positions = 1024, .name = "line 7"});
//
// Errors: an InputError that calls the sentence by its name when it is not UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qkv/text/tokenizer.h"

namespace qkv {

struct Sentence {
  std::vector<int32_t> ids;  // the end of the sentence last
  bool truncated = false;    // it was longer than the positions
  bool blank() const { return ids.size() <= 1; }
  std::vector<std::string> tokens(const Tokenizer& tokenizer) const;
};

struct ReadOptions {
  int64_t positions = 0;  // at least 1
  std::string name = "sentence";
};
Sentence read_sentence(const std::string& text, const Tokenizer& tokenizer, const ReadOptions& options);

std::vector<std::string> tokens_of(std::span<const int32_t> ids, const Tokenizer& tokenizer);

}  // namespace qkv
