// Small random models of one stack with a vocabulary, for the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include "qkv/base/random.h"
#include "qkv/model/causal.h"
#include "qkv/model/masked.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

inline const std::vector<std::string>& language_model_lines() {
  static const std::vector<std::string> lines = {"I am cold.", "a",        "Where are the two old towers?",
                                                 "no",         "I am old", "the rain is cold and the tower old"};
  return lines;
}

inline Tokenizer language_model_tokenizer(TokenizerType type = TokenizerType::bpe) {
  return Tokenizer::train(language_model_lines(), {.type = type, .vocabulary_size = 40, .character_coverage = 1});
}

// A model of two layers of width 16, unless change(config) asks for something else.
template <class AnyModel, class Change>
AnyModel random_language_model(uint64_t seed, const Tokenizer& tokenizer, Change change) {
  TransformerConfig c;
  c.architecture = AnyModel::architecture;
  c.source_vocabulary = tokenizer.size() + (c.architecture == Architecture::masked ? 1 : 0);
  c.target_vocabulary = c.source_vocabulary;
  c.d_model = 16, c.heads = 4, c.ffn = 24, c.encoder_layers = c.decoder_layers = 2, c.max_positions = 60;
  change(c);
  AnyModel model(c, seed);
  // A model as initialised has small branches and predicts its input token again. This one depends on everything.
  uint64_t stream = 0;
  model.visit([&](const std::string&, Variable& p) {
    Random random(seed, ++stream);
    for (float& x : p.mutable_value().template span<float>()) x = static_cast<float>(0.4 * random.normal());
  });
  return model;
}
template <class AnyModel>
AnyModel random_language_model(uint64_t seed, const Tokenizer& tokenizer) {
  return random_language_model<AnyModel>(seed, tokenizer, [](TransformerConfig&) {});
}

}  // namespace qkv
