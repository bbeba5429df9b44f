#include "qkv/decode/alignment.h"

#include <limits>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/decode/length_batches.h"
#include "qkv/decode/padded_batch.h"

namespace qkv {
namespace {

using Ids = std::vector<int32_t>;

constexpr int64_t all_at_once = std::numeric_limits<int64_t>::max();

struct Alignment {
  const EncoderDecoder& model;
  int64_t layer;
  int32_t bos;

  // In one pass of the decoder.
  std::vector<Tensor> of(const Encoded& sources, std::span<const Ids> targets) const {
    AttentionLog log{.only = {{AttentionUse::cross, layer}}, .mean_over_heads = true};
    Pass pass{.log = &log};
    // At least two positions: a single query is computed by a pass of its own, whose last bits differ.
    model.decode(pad_batch(targets, {.prepend = bos, .min_length = 2}).ids, sources, pass);
    const Tensor& weights = log.weights(AttentionUse::cross, layer);
    std::vector<Tensor> out;
    for (size_t i = 0; i < targets.size(); ++i)
      out.push_back(weights.select(0, static_cast<int64_t>(i))
                        .slice(0, 0, std::ssize(targets[i]))
                        .slice(1, 0, sources.lengths[i])
                        .clone());
    return out;
  }
};

}  // namespace

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
  const NoGrad guard;
  const Alignment alignment = {.model = model, .layer = layer, .bos = options.bos};
  std::vector<int64_t> lengths;
  for (const Ids& target : targets) lengths.push_back(1 + std::ssize(target));
  std::vector<Tensor> out(targets.size());
  for (const std::vector<size_t>& batch :
       length_batches(lengths, {.tokens = all_at_once, .equal = model.config().depends_on_length()})) {
    std::vector<int64_t> rows;
    std::vector<Ids> of_batch;
    for (const size_t i : batch) {
      rows.push_back(sources[i]);
      of_batch.push_back(targets[i]);
    }
    std::vector<Tensor> found = alignment.of(gather_rows(encoded, rows), of_batch);
    for (size_t b = 0; b < batch.size(); ++b) out[batch[b]] = std::move(found[b]);
  }
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
