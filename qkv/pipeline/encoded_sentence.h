// A sentence as token ids with the end-of-sentence token, cut to the position limit of a model.
//
//     EncodedSentence s = encode_sentence(text, tokenizer, {.max_tokens = 1024, .name = "line 7"});
//
// Errors: an InputError that names the sentence if it is not UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qkv/text/tokenizer.h"

namespace qkv {

struct EncodedSentence {
  std::vector<int32_t> ids;  // in their frame: eos last
  bool truncated = false;    // there were more tokens than max_tokens
  size_t frame = 1;          // the number of its tokens
  bool blank() const { return ids.size() <= frame; }
  std::vector<std::string> tokens(const Tokenizer& tokenizer) const;
};

struct EncodeSentenceOptions {
  int64_t max_tokens = 0;         // the frame included; at least its size
  std::string name = "sentence";  // in errors
  TextFrame frame = {.before = {}, .after = {Tokenizer::eos}};
};
EncodedSentence encode_sentence(const std::string& text, const Tokenizer& tokenizer,
                                const EncodeSentenceOptions& options);

std::vector<std::string> tokens_of(std::span<const int32_t> ids, const Tokenizer& tokenizer);

}  // namespace qkv
