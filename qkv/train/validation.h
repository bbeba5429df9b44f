// The measures of a validation.
//
//     Validation v = task.validate();                                    // train/training_task.h
//     fmt::print("loss {:.3f}, perplexity {:.2f}, BLEU {:.1f}\n", v.loss, v.perplexity(), v.bleu.value_or(0));
//     if (const auto use = task.source_use()) ...                        // use->gain: 0, if the source is ignored
#pragma once

#include <cmath>
#include <optional>
#include <vector>

namespace qkv {

struct Validation {
  double loss = 0;                  // cross entropy per token, in nats, without label smoothing
  std::optional<double> bleu = {};  // of greedy translations
  std::optional<double> accuracy =
      {};  // of a masked model: the fraction of masked tokens that are predicted correctly
  double perplexity() const { return std::exp(loss); }
};

// How much an encoder-decoder uses its source, measured on a few validation pairs.
struct SourceUse {
  // How much larger the loss is if sentences have each other's sources, in nats per target token.
  double gain = 0;
  // The mean of entropy / ln S of the cross-attention weights over S source tokens, by decoder layer. 1: all weights
  // are equal; 0: each is on one token.
  std::vector<double> entropy = {};
};

}  // namespace qkv
