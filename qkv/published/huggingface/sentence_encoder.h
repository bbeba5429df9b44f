// The files that sentence-transformers adds to the folder of a model: how the tokens of a sentence become one vector.
//
//     const SentenceEncoder encoder = read_sentence_encoder("all-MiniLM-L6-v2");
//     encoder.poolings, encoder.normalize, encoder.max_tokens
//     Embedder(encoder_folder("all-MiniLM-L6-v2"))                              // the folder that has the model itself
//
// It reads modules.json (the folders of the Transformer and of Pooling, and whether there is a Normalize), config.json
// of the module Pooling, in its old and new forms, max_seq_length and do_lower_case of sentence_bert_config.json, and
// the prompt that default_prompt_name of config_sentence_transformers.json names. Without these files the result is
// empty. A GGUF file names its pooling itself. Errors: InputError for poolings and modules that are not supported.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "qkv/model/pooling.h"

namespace qkv {

struct SentenceEncoder {
  std::vector<Pooling> poolings = {};  // their vectors stand side by side
  bool normalize = false;
  bool lowercase = false;   // sentences, before they are tokenized
  std::string prompt = {};  // in front of every sentence
  int64_t max_tokens = 0;   // including special ones; 0: the limit of the model
};

SentenceEncoder read_sentence_encoder(const std::filesystem::path& folder);

// The folder of the model: this one, or, if it has no config.json, that of the module Transformer.
std::filesystem::path encoder_folder(const std::filesystem::path& folder);

}  // namespace qkv
