#include "qkv/decode/alignment.h"

#include "qkv/base/error.h"
#include "qkv/decode/padded_batch.h"

namespace qkv {

std::vector<Tensor> alignments(const EncoderDecoder& model, const Encoded& encoded,
                               std::span<const int64_t> sources, std::span<const std::vector<int32_t>> targets,
                               const AlignmentOptions& options) {
  const int64_t layers = model.cross_attention_layers();
  const int64_t layer = options.layer < 0 ? layers + options.layer : options.layer;
  require<UsageError>(layer >= 0 && layer < layers, "alignments",
                      "layer must be -{0} to {1} of {0} decoder layers, got {2}", layers, layers - 1,
                      options.layer);
  require(sources.size() == targets.size(), "alignments",
          "there must be one source for each of the {} targets, got {}", targets.size(), sources.size());
  if (targets.empty()) return {};
  const NoGrad guard;
  const Encoded rows = gather_rows(encoded, sources);
  AttentionLog log{.only = {{AttentionUse::cross, layer}}, .mean_over_heads = true};
  Pass pass{.log = &log};
  // At least two positions: a single query is computed by a pass of its own, whose last bits differ.
  model.decode(pad_batch(targets, {.prepend = options.bos, .min_length = 2}).ids, rows, pass);
  const Tensor& weights = log.weights(AttentionUse::cross, layer);
  std::vector<Tensor> out;
  for (size_t i = 0; i < targets.size(); ++i)
    out.push_back(weights.select(0, static_cast<int64_t>(i))
                      .slice(0, 0, static_cast<int64_t>(targets[i].size()))
                      .slice(1, 0, rows.lengths[i])
                      .clone());
  return out;
}

std::vector<std::optional<int64_t>> alignment_links(const Tensor& alignment) {
  std::vector<std::optional<int64_t>> links;
  for (int64_t t = 0; t < alignment.dim(0); ++t) {
    std::optional<int64_t> best;
    float largest = 0;
    for (int64_t s = 0; s < alignment.dim(1); ++s)
      if (const float weight = alignment.at<float>({t, s}); weight > largest) best = s, largest = weight;
    links.push_back(best);
  }
  return links;
}

}  // namespace qkv
