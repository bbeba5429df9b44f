// Small random models for the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include "qkv/base/random.h"
#include "qkv/decode/padded_batch.h"
#include "qkv/model/transformer.h"

namespace qkv {

// Two layers of width 16 and a vocabulary of 13; change(config) may ask for something else.
template <class Change>
Transformer random_model(uint64_t seed, Change change) {
  TransformerConfig config;
  config.source_vocabulary = config.target_vocabulary = 13;
  config.d_model = 16;
  config.heads = 4;
  config.ffn = 24;
  config.encoder_layers = config.decoder_layers = 2;
  config.max_positions = 40;
  config.norm_order = NormOrder::post;
  change(config);
  Transformer model(config, seed);
  // A model as initialised has small branches and predicts its input token again. This one depends on everything.
  model.visit([](const std::string& name, Variable& p) {
    if (p.value().rank() == 2 && name.find("layers") != std::string::npos)
      for (float& x : p.mutable_value().span<float>()) x *= 2;
  });
  return model;
}
inline Transformer random_model(uint64_t seed) {
  return random_model(seed, [](TransformerConfig&) {});
}

// Sentences of 1 to `longest` tokens, none of them special.
inline std::vector<std::vector<int32_t>> random_sentences(size_t count, int64_t longest, uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<int32_t>> out(count);
  for (std::vector<int32_t>& sentence : out) {
    sentence.resize(1 + random.below(static_cast<uint64_t>(longest)));
    for (int32_t& id : sentence) id = 3 + static_cast<int32_t>(random.below(10));
  }
  return out;
}

}  // namespace qkv
