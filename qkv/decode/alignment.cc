#include "qkv/decode/alignment.h"

#include "qkv/base/error.h"
#include "qkv/decode/padded.h"

namespace qkv {
namespace {

// weights (B,H,T,S) of one row, without padding: (T,S), the mean over the heads.
Tensor mean_over_heads(const Tensor& weights, int64_t b, int64_t T, int64_t S) {
  Tensor mean = Tensor::zeros({T, S});
  float* out = mean.data<float>();
  const int64_t H = weights.dim(1);
  for (int64_t h = 0; h < H; ++h) {
    const Tensor head = weights.select(0, b).select(0, h);
    for (int64_t t = 0; t < T; ++t) {
      const float* row = head.data<float>() + t * head.stride(0);
      for (int64_t s = 0; s < S; ++s) out[t * S + s] += row[s] / static_cast<float>(H);
    }
  }
  return mean;
}

}  // namespace

std::vector<Tensor> alignments(const Transformer& model, const Tensor& source, std::span<const int32_t> lengths,
                               std::span<const std::vector<int32_t>> targets, const AlignmentOptions& options) {
  const int64_t layers = model.config().decoder_layers;
  const int64_t layer = options.layer < 0 ? layers + options.layer : options.layer;
  require<UsageError>(layer >= 0 && layer < layers, "alignments", "layer {} of {} decoder layers", options.layer,
                      layers);
  require(source.rank() == 2 && source.dim(0) == static_cast<int64_t>(lengths.size()) &&
              lengths.size() == targets.size(),
          "alignments", "source is {}, with {} lengths and {} targets", source.shape(), lengths.size(),
          targets.size());
  if (targets.empty()) return {};
  const NoGrad guard;
  Pass encode;
  const Encoded encoded = model.encode(source, {lengths.begin(), lengths.end()}, encode);
  AttentionLog log;
  Pass decode{.log = &log};
  model.decode(padded(targets, {.before = options.begin}).ids, encoded, decode);

  const std::string name = fmt::format("decoder.layers.{}.cross_attention", layer);
  std::vector<Tensor> out;
  for (const AttentionLog::Entry& entry : log.entries) {
    if (entry.name != name) continue;
    for (size_t b = 0; b < targets.size(); ++b)
      out.push_back(mean_over_heads(entry.weights, static_cast<int64_t>(b), static_cast<int64_t>(targets[b].size()),
                                    lengths[b]));
  }
  return out;
}

}  // namespace qkv
