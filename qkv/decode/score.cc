#include "qkv/decode/score.h"

#include "qkv/base/error.h"
#include "qkv/decode/padded.h"

namespace qkv {

std::vector<TargetScore> score_targets(const Transformer& model, const Tensor& source,
                                       std::span<const int32_t> lengths,
                                       std::span<const std::vector<int32_t>> targets,
                                       const TargetScoreOptions& options) {
  require(source.rank() == 2 && source.dim(0) == static_cast<int64_t>(lengths.size()) &&
              lengths.size() == targets.size(),
          "score_targets", "source is {}, with {} lengths and {} targets", source.shape(), lengths.size(),
          targets.size());
  if (targets.empty()) return {};
  const NoGrad guard;
  Pass pass;
  // A single position would go another way through attention than it does beside longer targets.
  constexpr int64_t at_least = 2;
  const Padded in = padded(targets, {.before = options.begin, .at_least = at_least});
  const Padded out = padded(targets, {.after = options.end, .at_least = at_least});
  constexpr int32_t ignore = -1;
  Tensor expected = out.ids;
  const int64_t T = expected.dim(1);
  for (size_t b = 0; b < targets.size(); ++b) {
    int32_t* row = expected.data<int32_t>() + static_cast<int64_t>(b) * T;
    std::fill(row + out.lengths[b], row + T, ignore);
  }
  const CrossEntropy result =
      model.loss(source, {lengths.begin(), lengths.end()}, in.ids, expected, {.ignore_index = ignore}, pass);
  const float* losses = result.token_losses.data<float>();
  std::vector<TargetScore> scores(targets.size());
  for (size_t b = 0; b < targets.size(); ++b)
    for (int64_t t = 0; t < out.lengths[b]; ++t) {
      scores[b].token_log_probabilities.push_back(-losses[static_cast<int64_t>(b) * T + t]);
      scores[b].log_probability += scores[b].token_log_probabilities.back();
    }
  return scores;
}

}  // namespace qkv
