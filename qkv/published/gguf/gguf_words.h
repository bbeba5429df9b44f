// How byte-level BPE cuts a text into words, by the names that GGUF files have for it in tokenizer.ggml.pre.
//
//     const GgufWords words = gguf_words("llama-bpe", "llama.gguf");
//     words.pre_tokenizer                                        // as in tokenizer.json
//
//     gguf_words_name(normalizer, pre_tokenizer, ignore_merges)  // the other direction: "llama-bpe"
//
// Errors: InputError for an unknown name, with the known ones.
#pragma once

#include <optional>
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

// Of a tokenizer.json; none: no name stands for this.
std::optional<std::string> gguf_words_name(const Json& normalizer, const Json& pre_tokenizer, bool ignore_merges);

}  // namespace qkv
