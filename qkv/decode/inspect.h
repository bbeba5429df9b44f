// Where a model looked: every layer's and head's attention weights of one translation, with their tokens.
//
//     Inspection e = inspect(translator, "I am cold.");
//     e.attention[2].layers[0]                                       // (H,T,S) of the first cross-attention
//     e.attention[2].rows, e.attention[2].columns                    // its T and S tokens
//
//     Inspection f = inspect(translator, "I am cold.", {.target = "J'ai froid."});     // of a given translation
//
// The weights are those of one pass over the whole translation. Row t of a decoder's map shows where it looked when
// it chose token t of the translation, the end included; the decoder's own inputs, the columns of its
// self-attention, begin one token earlier.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "qkv/decode/translator.h"

namespace qkv {

struct AttentionMaps {
  std::string title;                       // "encoder self-attention"
  std::vector<Tensor> layers;              // (H,T,S) each, the first layer first
  std::vector<std::string> rows, columns;  // T and S tokens
};

struct Inspection {
  std::string text;                            // the translation
  double log_probability = 0;                  // of the translation and its end
  std::vector<float> token_log_probabilities;  // log-probability of each token, the end last
  std::vector<std::string> tokens;             // of the translation, the end last
  bool truncated = false;                      // a side was too long and has been cut
  std::vector<AttentionMaps> attention;        // encoder self-attention, decoder self-attention, cross-attention
};

struct InspectOptions {
  TranslateOptions translate = {};
  std::optional<std::string> target = {};  // instead of the model's own translation
};
Inspection inspect(const Translator& translator, const std::string& sentence, const InspectOptions& options = {});

}  // namespace qkv
