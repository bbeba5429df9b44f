#include "qkv/model/token_flops.h"

#include <algorithm>
#include <array>
#include <span>

#include "qkv/layer/block.h"
#include "qkv/layer/parameter_groups.h"
#include "qkv/model/make_model.h"

namespace qkv {
namespace {

// Layers with the same attention, ascending.
using Layers = std::vector<int64_t>;

// The layers of a stack, grouped by equal keys: key(n) is a function of the layer.
template <class Key>
std::vector<Layers> equal_layers(int64_t layers, Key key) {
  std::vector<Layers> out;
  std::vector<decltype(key(0))> keys;  // of `out`
  for (int64_t n = 0; n < layers; ++n) {
    auto own = key(n);
    const auto kind = static_cast<size_t>(std::ranges::find(keys, own) - keys.begin());
    if (kind == keys.size()) {
      keys.push_back(std::move(own));
      out.emplace_back();
    }
    out[kind].push_back(n);
  }
  return out;
}

// "encoder: projections", with the layers where there are several kinds.
std::string title_of(const std::string& part, const Layers& layers, size_t kinds) {
  return kinds == 1 ? part : fmt::format("{} (layers {})", part, index_ranges(layers));
}

MultiHeadAttentionOptions attention_of(const TransformerConfig& c, AttentionUse use, int64_t layer) {
  return (use == AttentionUse::encoder ? c.encoder_block(layer) : c.decoder_block(layer)).attention(use);
}

// One row for each variant of the pattern.
void add_attention(std::vector<FlopCount>& rows, const std::string& part, const TransformerConfig& c,
                   AttentionUse use, int64_t T, int64_t S) {
  const std::vector<Layers> kinds = equal_layers(use == AttentionUse::encoder ? c.encoder_layers : c.decoder_layers,
                                                 [&](int64_t n) { return attention_of(c, use, n).variant; });
  for (const Layers& layers : kinds)
    rows.push_back(attention_flops(title_of(part, layers, kinds.size()), attention_of(c, use, layers.front()),
                                   std::ssize(layers), T, S));
}

// Layers of equal kinds have projections of equal sizes.
std::array<bool, 3> projection_kind(const AttentionVariant& v) {
  return {v.reads_queries(), v.reads_keys(), v.has_global_projections()};
}

// Longformer's second projections are as large as the first.
int64_t projections(const MultiHeadAttentionOptions& o) { return o.variant.has_global_projections() ? 2 : 1; }

void add_query_projections(MatrixFlops& flops, const MultiHeadAttention& attention, int64_t times) {
  flops.add(attention.projection.query, times);
  flops.add(attention.out);
}
void add_key_value_projections(MatrixFlops& flops, const MultiHeadAttention& attention, int64_t times) {
  flops.add(attention.projection.key, times);
  flops.add(attention.projection.value, times);
}

// W rows of `width` numbers, and a projection from C to `width` where they differ.
FlopCount output_projection(int64_t C, int64_t W, int64_t width) {
  const int64_t elements = width * W + (width == C ? 0 : width * C);
  return {.part = "output projection",
          .formula = "2 C W",
          .flops = 2 * elements,
          .weights = elements,
          .token_bytes = static_cast<double>(4 * (C + W))};
}
FlopCount output_projection(const TransformerConfig& c) {
  return output_projection(c.d_model, c.target_vocabulary, c.embedding_width == 0 ? c.d_model : c.embedding_width);
}
FlopCount output_projection(const RecurrentConfig& c) {
  return output_projection(c.d_model, c.target_vocabulary, c.d_model);
}

void add_encoder(std::vector<FlopCount>& rows, const TransformerConfig& c, int64_t S) {
  const std::vector<Layers> encoders = equal_layers(
      c.encoder_layers, [&](int64_t n) { return projection_kind(c.self_attention.encoder.of_layer(n)); });
  for (const Layers& layers : encoders) {
    const Block block(c.encoder_block(layers.front()));
    const int64_t times = projections(attention_of(c, AttentionUse::encoder, layers.front()));
    MatrixFlops own;
    add_query_projections(own, block.self_attention, times);
    add_key_value_projections(own, block.self_attention, times);
    rows.push_back(own.count(title_of("encoder: projections", layers, encoders.size()), std::ssize(layers)));
  }
  add_attention(rows, "encoder: self-attention", c, AttentionUse::encoder, S, S);
  MatrixFlops ffn;
  ffn.add(Block(c.encoder_block()).feed_forward);
  rows.push_back(ffn.count("encoder: feed-forward", c.encoder_layers));
}

void add_source_keys(std::vector<FlopCount>& rows, const TransformerConfig& c) {
  const std::vector<Layers> decoders =
      equal_layers(c.decoder_layers, [&](int64_t n) { return projection_kind(c.cross_attention.of_layer(n)); });
  for (const Layers& layers : decoders) {
    const Block block(c.decoder_block(layers.front()));
    MatrixFlops cross;
    add_key_value_projections(cross, *block.cross_attention,
                              projections(attention_of(c, AttentionUse::cross, layers.front())));
    rows.push_back(cross.count(title_of("decoder: keys and values of the source", layers, decoders.size()),
                               std::ssize(layers)));
  }
}

// A child of a model, and the projection of the encoder's states inside it, which is for source tokens.
class RecurrentParts final : public ModuleContents {
 public:
  explicit RecurrentParts(const Module& model) { model.list(*this); }

  void parameter(const std::string&, const Parameter&) override {}
  void child(const std::string& name, const Module& module) override {
    const std::string whole = path_ + name;
    if (whole == "encoder") {
      source.add(module);
    } else if (whole == "decoder.attention.key") {
      keys.add(module);
    } else if (whole == "decoder.initial") {
      return;  // once a sentence
    } else if (dynamic_cast<const Linear*>(&module)) {
      target.add(module);
    } else {
      const std::string before = std::exchange(path_, whole + ".");
      module.list(*this);
      path_ = before;
    }
  }

  MatrixFlops source, keys, target;

 private:
  std::string path_;
};

// Attention of a state, over the keys around its position if there is a window; width C for the score, E for the
// values.
FlopCount context_flops(const RecurrentConfig& c, int64_t S) {
  const AttentionVariant variant = c.attention();
  const Additive* const additive = variant.get<Additive>();
  const int64_t D = additive && additive->width > 0 ? additive->width : c.d_model;
  const int64_t E = c.encoder_width();
  int64_t keys = S;
  if (const LocalM* window = variant.get<LocalM>()) keys = std::min(S, 2 * window->radius + 1);
  if (const LocalP* window = variant.get<LocalP>()) keys = std::min(S, 2 * window->radius + 1);
  const int64_t of_key = (additive ? 4 : 2) * D + 2 * E;
  return {.part = fmt::format("decoder: attention, {} of {} keys", keys, S),
          .formula = fmt::format("{} keys", of_key),
          .flops = of_key * keys,
          .token_bytes = static_cast<double>(4 * (D + E) * keys)};
}

FlopCount recurrent_matrices(const MatrixFlops& matrices, const char* part) {
  FlopCount all = matrices.count(part, 1);
  all.formula = "2 for each weight";
  return all;
}

std::vector<FlopCount> source_flops(const RecurrentConfig& c, const DescribeOptions&) {
  const RecurrentParts parts(*make_model(c));
  std::vector<FlopCount> rows = {recurrent_matrices(parts.source, "encoder: cells"),
                                 recurrent_matrices(parts.keys, "decoder: keys of the source")};
  std::erase_if(rows, [](const FlopCount& row) { return row.flops == 0; });
  return rows;
}

std::vector<FlopCount> target_flops(const RecurrentConfig& c, const DescribeOptions& o) {
  const RecurrentParts parts(*make_model(c));
  return {recurrent_matrices(parts.target, "decoder: cells, attention and readout"),
          context_flops(c, o.source_length), output_projection(c)};
}

std::vector<FlopCount> source_flops(const TransformerConfig& c, const DescribeOptions& o) {
  std::vector<FlopCount> rows;
  if (c.has_encoder()) add_encoder(rows, c, o.source_length);
  if (c.has_encoder() && c.has_decoder()) add_source_keys(rows, c);
  return rows;
}

std::vector<FlopCount> target_flops(const TransformerConfig& c, const DescribeOptions& o) {
  const int64_t S = o.source_length, T = o.target_length;
  std::vector<FlopCount> rows;
  if (!c.has_decoder()) {  // of a masked token
    MatrixFlops head;
    head.add(Linear({c.d_model, "C"}, {c.d_model, "C"}));
    return {head.count("head: transform", 1), output_projection(c)};
  }
  const std::vector<Layers> decoders = equal_layers(c.decoder_layers, [&](int64_t n) {
    return std::pair(projection_kind(c.self_attention.decoder.of_layer(n)),
                     projection_kind(c.cross_attention.of_layer(n)));
  });
  for (const Layers& layers : decoders) {
    const Block block(c.decoder_block(layers.front()));
    const int64_t self = projections(attention_of(c, AttentionUse::decoder, layers.front()));
    MatrixFlops own;
    add_query_projections(own, block.self_attention, self);
    add_key_value_projections(own, block.self_attention, self);
    if (c.has_encoder())
      add_query_projections(own, *block.cross_attention,
                            projections(attention_of(c, AttentionUse::cross, layers.front())));
    rows.push_back(own.count(title_of("decoder: projections", layers, decoders.size()), std::ssize(layers)));
  }
  add_attention(rows, "decoder: self-attention", c, AttentionUse::decoder, T, T);
  if (c.has_encoder()) add_attention(rows, "decoder: cross-attention", c, AttentionUse::cross, T, S);
  MatrixFlops ffn;
  ffn.add(Block(c.decoder_block()).feed_forward);
  rows.push_back(ffn.count("decoder: feed-forward", c.decoder_layers));
  rows.push_back(output_projection(c));
  return rows;
}

}  // namespace

std::vector<FlopCount> flops_per_source_token(const ModelConfig& config, const DescribeOptions& options) {
  return config.visit([&](const auto& c) { return source_flops(c, options); });
}

std::vector<FlopCount> flops_per_target_token(const ModelConfig& config, const DescribeOptions& options) {
  return config.visit([&](const auto& c) { return target_flops(c, options); });
}

}  // namespace qkv
