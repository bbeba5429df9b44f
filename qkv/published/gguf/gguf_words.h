// How byte-level BPE cuts a text into words, by the names that GGUF files have for it in tokenizer.ggml.pre.
//
//     const GgufWords words = gguf_words("llama-bpe", "llama.gguf");
//     words.pre_tokenizer                                        // as in tokenizer.json
//
// Errors: InputError for an unknown name, with the known ones.
#pragma once

#include <string>
#include <string_view>

#include "qkv/base/json.h"

namespace qkv {

struct GgufWords {
  Json normalizer, pre_tokenizer;
  bool ignore_merges = false;  // a word that is a token is not cut
  bool adds_bos = false;       // unless the file says something else
};
GgufWords gguf_words(std::string_view name, const std::string& file);

}  // namespace qkv
