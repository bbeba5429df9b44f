#include "qkv/model/transformer.h"

#include <algorithm>
#include <cmath>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/base/error.h"
#include "qkv/op/embedding.h"
#include "qkv/op/linear.h"
#include "qkv/op/position.h"
#include "qkv/op/shape.h"

namespace qkv {
namespace {

// Sinusoidal positions are stored up to this one and computed on demand beyond it, so that a large max_positions
// costs no memory.
constexpr int64_t stored_positions = 4096;

LayerOptions with_index(LayerOptions options, int64_t index) {
  options.index = index;
  return options;
}

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

Transformer::Transformer(const TransformerConfig& config) : config_(config) {
  config_.check();
  const int64_t C = config_.d_model;
  source_embedding_ = new_parameter({config_.source_vocabulary, C});
  target_embedding_ = config_.tie == Tie::all ? source_embedding_ : new_parameter({config_.target_vocabulary, C});
  output_ = config_.tie == Tie::none ? new_parameter({config_.target_vocabulary, C}) : target_embedding_;
  if (config_.positions == Positions::learned) {
    source_positions_ = new_parameter({config_.max_positions, C});
    target_positions_ = new_parameter({config_.max_positions, C});
  } else if (config_.positions == Positions::sinusoidal) {
    source_positions_ = target_positions_ = sinusoidal(std::min(config_.max_positions, stored_positions), C);
  }
  const LayerOptions encoder = config_.encoder_layer(), decoder = config_.decoder_layer();
  for (int64_t n = 0; n < config_.encoder_layers; ++n) encoder_.emplace_back(with_index(encoder, n));
  for (int64_t n = 0; n < config_.decoder_layers; ++n) decoder_.emplace_back(with_index(decoder, n));
  if (config_.norm_order == NormOrder::pre) {
    encoder_norm_.emplace_back(C);
    decoder_norm_.emplace_back(C);
  }
}

Transformer::Transformer(const TransformerConfig& config, uint64_t seed) : Transformer(config) { initialise(seed); }

void Transformer::initialise(uint64_t seed) {
  const auto table = [&](Variable& parameter, const char* name) {
    normal(parameter, 1.0 / std::sqrt(static_cast<double>(config_.d_model)), seed, name);
  };
  table(source_embedding_, "source_embedding");
  if (config_.tie != Tie::all) table(target_embedding_, "target_embedding");
  if (config_.tie == Tie::none) table(output_, "output");
  if (config_.positions == Positions::learned) {
    table(source_positions_, "source_positions");
    table(target_positions_, "target_positions");
  }
  for (size_t n = 0; n < encoder_.size(); ++n) encoder_[n].initialise(fmt::format("encoder.layers.{}", n), seed);
  for (size_t n = 0; n < decoder_.size(); ++n) decoder_[n].initialise(fmt::format("decoder.layers.{}", n), seed);
}

Variable Transformer::embed(const Tensor& ids, const Variable& table, const Variable& positions,
                            int64_t first) const {
  const float scale = std::sqrt(static_cast<float>(config_.d_model));
  const int64_t T = ids.dim(1);
  if (config_.positions == Positions::sinusoidal && first + T > stored_positions)
    return embedding(ids, table, {.scale = scale, .positions = sinusoidal(T, config_.d_model, first)});
  return embedding(ids, table, {.scale = scale, .positions = positions, .first_position = first});
}

Encoded Transformer::encode(const Tensor& source, std::vector<int32_t> lengths, Pass& pass) const {
  check_ids("source", source, config_.position_limit());
  const MaskPtr mask = padding(lengths);
  Variable x = dropout(embed(source, source_embedding_, source_positions_, 0), pass.dropout(config_.dropout));
  for (const EncoderLayer& layer : encoder_) x = layer.forward(x, mask, pass);
  for (const LayerNorm& norm : encoder_norm_) x = norm.forward(x);
  return {x, std::move(lengths)};
}

Variable Transformer::decode(const Tensor& target_in, const Encoded& encoded, Pass& pass) const {
  check_ids("target", target_in, config_.position_limit());
  const MaskPtr mask = causal(), memory_mask = padding(encoded.lengths);
  Variable y = dropout(embed(target_in, target_embedding_, target_positions_, 0), pass.dropout(config_.dropout));
  const Tensor lengths = as_tensor(encoded.lengths);
  for (const DecoderLayer& layer : decoder_)
    y = layer.forward(y, mask, layer.cross_attention.project(encoded.memory, encoded.memory, lengths), memory_mask,
                      pass);
  for (const LayerNorm& norm : decoder_norm_) y = norm.forward(y);
  return y;
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
  const Tensor lengths = as_tensor(encoded.lengths);
  for (const DecoderLayer& layer : decoder_)
    state.memory.push_back(layer.cross_attention.project(encoded.memory, encoded.memory, lengths));
  state.memory_mask = padding(encoded.lengths);
  state.caches.resize(decoder_.size());
  return state;
}

Tensor Transformer::step(DecoderState& state, const Tensor& ids, Pass& pass) const {
  const int64_t R = ids.numel();
  require(state.position < config_.position_limit(), "Transformer::step",
          "position {} is beyond the model's limit of {} positions", state.position, config_.position_limit());
  const NoGrad guard;
  Variable y = embed(ids.contiguous_copy().reshape({R, 1}), target_embedding_, target_positions_, state.position);
  for (size_t n = 0; n < decoder_.size(); ++n)
    y = decoder_[n].step(y, state.caches[n], state.memory[n], state.memory_mask, pass);
  for (const LayerNorm& norm : decoder_norm_) y = norm.forward(y);
  ++state.position;
  return logits(y).value().reshape({R, config_.target_vocabulary});
}

void Transformer::reorder(DecoderState& state, std::span<const int64_t> source) const {
  for (AttentionCache& cache : state.caches) cache.reorder(source);
}

void Transformer::keep_sentences(DecoderState& state, std::span<const int64_t> sentences,
                                 std::span<const int32_t> lengths) const {
  const Tensor remaining = as_tensor({lengths.begin(), lengths.end()});
  for (MultiHeadAttention::KeyValues& memory : state.memory) {
    memory.k = gather_rows(memory.k.value(), sentences);
    memory.v = gather_rows(memory.v.value(), sentences);
    memory.lengths = remaining;
  }
  state.memory_mask = padding(remaining);
}

void Transformer::visit(const ParameterVisitor& visitor) {
  visitor("source_embedding", source_embedding_);
  if (config_.tie != Tie::all) visitor("target_embedding", target_embedding_);
  if (config_.tie == Tie::none) visitor("output", output_);
  if (config_.positions == Positions::learned) {
    visitor("source_positions", source_positions_);
    visitor("target_positions", target_positions_);
  }
  for (size_t n = 0; n < encoder_.size(); ++n) encoder_[n].visit(fmt::format("encoder.layers.{}", n), visitor);
  for (LayerNorm& norm : encoder_norm_) norm.visit("encoder.norm", visitor);
  for (size_t n = 0; n < decoder_.size(); ++n) decoder_[n].visit(fmt::format("decoder.layers.{}", n), visitor);
  for (LayerNorm& norm : decoder_norm_) norm.visit("decoder.norm", visitor);
}

int64_t Transformer::parameter_count() {
  int64_t count = 0;
  visit([&](const std::string&, Variable& p) { count += p.value().numel(); });
  return count;
}

}  // namespace qkv
