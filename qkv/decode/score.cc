#include "qkv/decode/score.h"

#include <cmath>

#include "qkv/base/error.h"
#include "qkv/decode/overflow.h"
#include "qkv/decode/padded_batch.h"

namespace qkv {

std::vector<TargetScore> score_targets(const EncoderDecoder& model, const Encoded& encoded,
                                       std::span<const std::vector<int32_t>> targets,
                                       const TargetScoreOptions& options) {
  require(encoded.lengths.size() == targets.size(), "score_targets",
          "there must be one target for each of the {} sources, got {}", encoded.lengths.size(), targets.size());
  if (targets.empty()) return {};
  const NoGrad guard;
  Pass pass{.log = options.log};
  // A single query is computed by a pass of its own, whose last bits differ from those beside longer targets.
  constexpr int64_t min_length = 2;
  const PaddedBatch in = pad_batch(targets, {.prepend = options.bos, .min_length = min_length});
  const PaddedBatch out = pad_batch(targets, {.append = options.eos, .min_length = min_length});
  constexpr int32_t ignore = -1;
  Tensor expected = out.ids;
  const int64_t T = expected.dim(1);
  for (size_t b = 0; b < targets.size(); ++b) {
    int32_t* row = expected.data<int32_t>() + static_cast<int64_t>(b) * T;
    std::fill(row + out.lengths[b], row + T, ignore);
  }
  const CrossEntropy result = model.loss(encoded, in.ids, expected, {.ignore_index = ignore}, pass);
  const float* losses = result.token_losses.data<float>();
  std::vector<TargetScore> scores(targets.size());
  for (size_t b = 0; b < targets.size(); ++b)
    for (int64_t t = 0; t < out.lengths[b]; ++t) {
      const float loss = losses[static_cast<int64_t>(b) * T + t];
      require<Overflow>(!std::isnan(loss), "score_targets", "the logits of token {} of row {} are not finite", t,
                        b);
      scores[b].token_log_probabilities.push_back(-loss);
      scores[b].log_probability += scores[b].token_log_probabilities.back();
    }
  return scores;
}

std::vector<TargetScore> score_targets(const EncoderDecoder& model, const Tensor& source,
                                       std::span<const int32_t> lengths,
                                       std::span<const std::vector<int32_t>> targets,
                                       const TargetScoreOptions& options) {
  require(source.rank() == 2 && source.dim(0) == static_cast<int64_t>(lengths.size()), "score_targets",
          "source must be (B,S) with B lengths, got {} and {} lengths", source.shape(), lengths.size());
  if (lengths.empty() && targets.empty()) return {};
  const NoGrad guard;
  Pass pass;
  return score_targets(model, model.encode(source, {lengths.begin(), lengths.end()}, pass), targets, options);
}

}  // namespace qkv
