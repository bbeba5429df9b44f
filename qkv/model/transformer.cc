#include "qkv/model/transformer.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/base/error.h"
#include "qkv/layer/initialise.h"
#include "qkv/op/embedding.h"
#include "qkv/op/linear.h"
#include "qkv/op/shape.h"

namespace qkv {
namespace {

Tensor as_tensor(const std::vector<int32_t>& lengths) {
  return Tensor::from(lengths, {static_cast<int64_t>(lengths.size())});
}

void check_ids(const char* side, const Tensor& ids, int64_t limit) {
  require(ids.rank() == 2 && ids.dtype() == DType::i32, "Transformer", "{} ids must be i32 (B,T), got {} {}", side,
          name_of(ids.dtype()), ids.shape());
  require(ids.dim(1) >= 1 && ids.dim(1) <= limit, "Transformer", "{} must have 1 to {} tokens, got {}", side, limit,
          ids.dim(1));
}

}  // namespace

Transformer::Transformer(const TransformerConfig& config)
    : config_(config), sinusoidal_(config.d_model, config.max_positions) {
  config_.check();
  const int64_t C = config_.d_model;
  const Axis width(C, "C"), V(config_.source_vocabulary, "V"), W(config_.target_vocabulary, "W");
  const Axis P(config_.max_positions, "P");
  const auto table = [&](const Axis& rows) {
    return Parameter({rows, width}, normal(1.0 / std::sqrt(static_cast<double>(C))));
  };
  source_embedding_ = table(V);
  target_embedding_ = config_.tie == Tie::all ? source_embedding_ : table(W);
  output_ = config_.tie == Tie::none ? table(W) : target_embedding_;
  if (config_.positions == Positions::learned) source_positions_ = table(P), target_positions_ = table(P);
  for (int64_t n = 0; n < config_.encoder_layers; ++n) encoder_.emplace_back(config_.encoder_block(n));
  for (int64_t n = 0; n < config_.decoder_layers; ++n) decoder_.emplace_back(config_.decoder_block(n));
  if (needs_final_norm(config_.norm_order)) {
    encoder_norm_.emplace(width, config_.norm_options());
    decoder_norm_.emplace(width, config_.norm_options());
  }
}

Transformer::Transformer(const TransformerConfig& config, uint64_t seed) : Transformer(config) {
  initialise("", seed);
}

Variable Transformer::embed(const Tensor& ids, const Parameter& table, const Parameter& positions,
                            int64_t first) const {
  EmbeddingOptions options{.scale = std::sqrt(static_cast<float>(config_.d_model)), .first_position = first};
  if (config_.positions == Positions::learned) options.positions = positions;
  if (config_.positions == Positions::sinusoidal)
    std::tie(options.positions, options.first_position) = sinusoidal_.rows(first, ids.dim(1));
  return embedding(ids, table, options);
}

Encoded Transformer::encode(const Tensor& source, std::vector<int32_t> lengths, Pass& pass) const {
  check_ids("source", source, config_.position_limit());
  const MaskPtr mask = padding(lengths);
  Variable x = dropout(embed(source, source_embedding_, source_positions_, 0), pass.dropout(config_.dropout));
  for (const Block& block : encoder_) x = block.forward(x, mask, pass);
  return {encoder_norm_ ? encoder_norm_->forward(x) : x, std::move(lengths)};
}

Variable Transformer::decode(const Tensor& target_in, const Encoded& encoded, Pass& pass) const {
  check_ids("target", target_in, config_.position_limit());
  const MaskPtr mask = causal();
  Variable y = dropout(embed(target_in, target_embedding_, target_positions_, 0), pass.dropout(config_.dropout));
  for (const Block& block : decoder_)
    y = block.forward(y, mask, block.memory(encoded.memory, encoded.lengths), pass);
  return decoder_norm_ ? decoder_norm_->forward(y) : y;
}

Variable Transformer::logits(const Variable& hidden) const { return linear(hidden, output_); }

CrossEntropy Transformer::loss(const Tensor& source, std::vector<int32_t> lengths, const Tensor& target_in,
                               const Tensor& target_out, const CrossEntropyOptions& options, Pass& pass) const {
  return loss(encode(source, std::move(lengths), pass), target_in, target_out, options, pass);
}

CrossEntropy Transformer::loss(const Encoded& encoded, const Tensor& target_in, const Tensor& target_out,
                               const CrossEntropyOptions& options, Pass& pass) const {
  const Variable hidden = decode(target_in, encoded, pass);
  const int64_t N = hidden.dim(0) * hidden.dim(1);
  require(target_out.shape() == target_in.shape(), "Transformer::loss",
          "target_in is {}, target_out must have its shape, got {}", describe("BT", target_in.shape()),
          describe("BT", target_out.shape()));
  return linear_cross_entropy(reshape(hidden, {N, config_.d_model}), output_,
                              target_out.contiguous_copy().reshape({N}), options);
}

DecoderState Transformer::start(const Encoded& encoded) const {
  DecoderState state;
  for (const Block& block : decoder_) state.memory.push_back(block.memory(encoded.memory, encoded.lengths));
  state.caches.resize(decoder_.size());
  return state;
}

Tensor Transformer::step(DecoderState& state, const Tensor& ids, Pass& pass) const {
  const int64_t R = ids.numel();
  require(state.position < config_.position_limit(), "Transformer::step",
          "position {} is beyond the model's limit of {} positions", state.position, config_.position_limit());
  const NoGrad guard;
  Variable y = embed(ids.contiguous_copy().reshape({R, 1}), target_embedding_, target_positions_, state.position);
  for (size_t n = 0; n < decoder_.size(); ++n) y = decoder_[n].step(y, state.caches[n], state.memory[n], pass);
  if (decoder_norm_) y = decoder_norm_->forward(y);
  ++state.position;
  return logits(y).value().reshape({R, config_.target_vocabulary});
}

void Transformer::reorder(DecoderState& state, std::span<const int64_t> source) const {
  for (AttentionCache& cache : state.caches) cache.reorder(source);
}

void Transformer::keep_sentences(DecoderState& state, std::span<const int64_t> sentences,
                                 std::span<const int32_t> lengths) const {
  const Tensor remaining = as_tensor({lengths.begin(), lengths.end()});
  for (Block::Memory& memory : state.memory) {
    memory.keys_values.k = gather_rows(memory.keys_values.k.value(), sentences);
    memory.keys_values.v = gather_rows(memory.keys_values.v.value(), sentences);
    memory.keys_values.lengths = remaining;
    memory.mask = padding(remaining);
  }
}

void Transformer::list(ModuleContents& contents) const {
  contents.parameter("source_embedding", source_embedding_);
  if (config_.tie != Tie::all) contents.parameter("target_embedding", target_embedding_);
  if (config_.tie == Tie::none) contents.parameter("output", output_);
  contents.parameter("source_positions", source_positions_);
  contents.parameter("target_positions", target_positions_);
  for (size_t n = 0; n < encoder_.size(); ++n) contents.child(fmt::format("encoder.layers.{}", n), encoder_[n]);
  if (encoder_norm_) contents.child("encoder.norm", *encoder_norm_);
  for (size_t n = 0; n < decoder_.size(); ++n) contents.child(fmt::format("decoder.layers.{}", n), decoder_[n]);
  if (decoder_norm_) contents.child("decoder.norm", *decoder_norm_);
}

}  // namespace qkv
