// What sentence-transformers adds to the folder of a model: how the vector of a sentence is made from its tokens.
//
//     const SentenceEncoder encoder = read_sentence_encoder("all-MiniLM-L6-v2");
//     encoder.poolings, encoder.normalize, encoder.max_tokens
//
// Read are modules.json (a Normalize among the modules), config.json of the module Pooling, and max_seq_length of
// sentence_bert_config.json; without them nothing is said. Errors: InputError for poolings and modules that are not supported.
#pragma once

#include <filesystem>
#include <vector>

#include "qkv/decode/pooling.h"

namespace qkv {

struct SentenceEncoder {
  std::vector<Pooling> poolings = {};  // their vectors stand side by side
  bool normalize = false;
  int64_t max_tokens = 0;  // special ones counted; 0: those of the model
};

SentenceEncoder read_sentence_encoder(const std::filesystem::path& folder);

}  // namespace qkv
