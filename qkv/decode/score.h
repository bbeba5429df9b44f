// How likely a model finds given translations.
//
//     auto scores = score_targets(model, source, lengths, targets);       // targets: ids without begin and end
//     scores[b].log_probability                                    // log p(target_b, end | source_b)
//     scores[b].token_log_probabilities                                             // of every token, the end last
//
// One pass of the whole decoder for the batch; a score does not depend on the batch. Perplexity is
// exp(-sum of log-probabilities / number of tokens).
// Errors: Error for a target with no position left for its end, or ids outside the vocabulary.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/model/transformer.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

struct TargetScore {
  double log_probability = 0.0;
  std::vector<float> token_log_probabilities;
};

struct TargetScoreOptions {
  int32_t begin = Tokenizer::bos, end = Tokenizer::eos;
};
std::vector<TargetScore> score_targets(const Transformer& model, const Tensor& source,
                                       std::span<const int32_t> lengths,
                                       std::span<const std::vector<int32_t>> targets,
                                       const TargetScoreOptions& options = {});

}  // namespace qkv
