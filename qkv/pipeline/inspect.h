// The attention weights of every layer and head for one translation, or one text of a language model, with their
// tokens.
//
//     Inspection e = inspect(translator, "I am cold.");
//     e.attention[2].layers[0]                                       // (H,T,S) of the first cross-attention
//     e.attention[2].rows, e.attention[2].columns                    // its T and S tokens
//
//     Inspection f = inspect(translator, "I am cold.", {.target = "J'ai froid."});     // of a given translation
//
//     Inspection g = inspect(generator, "I am cold.");              // the text as it is
//     Inspection h = inspect(mask_filler, "I am [MASK].");          // text: the tokens that fill the masks
//
// Row t of a decoder map holds the weights with which token t of the translation (eos included) was predicted. The
// columns of the decoder self-attention are the inputs of the decoder: bos, then the translation. The same holds for a
// causal model and its text; rows and columns of a masked model are its inputs: bos, the tokens, eos.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "qkv/base/names.h"
#include "qkv/pipeline/generator.h"
#include "qkv/pipeline/mask_filler.h"
#include "qkv/pipeline/translator.h"

namespace qkv {

constexpr auto names_of(AttentionUse) {
  return std::array{Named{AttentionUse::encoder, "encoder"}, Named{AttentionUse::decoder, "decoder"},
                    Named{AttentionUse::cross, "cross"}};
}

struct AttentionMaps {
  AttentionUse use = AttentionUse::encoder;
  std::string title = {};                            // "encoder self-attention"
  std::vector<Tensor> layers = {};                   // (H,T,S) each, from the first layer
  std::vector<std::string> rows = {}, columns = {};  // T and S tokens
  std::string caption = {};                          // what they are, where that is not plain
};

struct Inspection {
  std::string text = {};       // the translation, or the text, its masks filled
  double log_probability = 0;  // of the translation or text and its eos; of what fills the masks
  std::vector<float> token_log_probabilities = {};  // of each token, eos last; none of a masked model
  std::vector<std::string> tokens = {};             // of the translation or text, eos last
  bool truncated = false;                           // a side was longer than the limit and was cut
  std::vector<AttentionMaps> attention =
      {};  // encoder self-attention, decoder self-attention, cross-attention, as far as the model has them
};

struct InspectOptions {
  std::optional<TranslateOptions> translate = {};  // none: the defaults of the translator
  std::optional<std::string> target = {};          // instead of the model's own translation
  int64_t max_input_tokens = 0;                    // of either side; 0: inspection_limit()
};
Inspection inspect(const Translator& translator, const std::string& sentence, const InspectOptions& options = {});
Inspection inspect(const Generator& generator, const std::string& text, int64_t max_input_tokens = 0);
Inspection inspect(const MaskFiller& filler, const std::string& text, const std::string& marker = "[MASK]",
                   int64_t max_input_tokens = 0);

// As many tokens as the model is made for, as far as the weights of all layers and heads are at most 2^25 numbers.
int64_t inspection_limit(const ModelConfig& config);

}  // namespace qkv
