// The log-probability of given translations.
//
//     auto scores = score_targets(model, encoded, targets);     // targets: ids without bos and eos
//     scores[b].log_probability                                 // log p(target_b, eos | source_b)
//     scores[b].token_log_probabilities                         // of every token, eos last
//
// One pass of the decoder over the batch; a score does not depend on the batch. Perplexity is
// exp(-sum of log-probabilities / number of tokens).
// Errors: Error for a target that is longer than the model's position limit with its eos, or has unknown ids.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/model/encoder_decoder.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

struct TargetScore {
  double log_probability = 0.0;
  std::vector<float> token_log_probabilities;
};

struct TargetScoreOptions {
  int32_t bos = Tokenizer::bos, eos = Tokenizer::eos;
  AttentionLog* log =
      nullptr;  // records the attention weights of the decoder; there are two target positions or more
};
std::vector<TargetScore> score_targets(const EncoderDecoder& model, const Encoded& encoded,
                                       std::span<const std::vector<int32_t>> targets,
                                       const TargetScoreOptions& options = {});
// The same, for sources i32 (B,S) with their lengths (B).
std::vector<TargetScore> score_targets(const EncoderDecoder& model, const Tensor& source,
                                       std::span<const int32_t> lengths,
                                       std::span<const std::vector<int32_t>> targets,
                                       const TargetScoreOptions& options = {});

}  // namespace qkv
