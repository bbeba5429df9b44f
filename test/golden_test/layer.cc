// Layers in the weight layouts people have: qkv::MultiHeadAttention and the layers made of it are given slices of
// the packed matrices as their weights, so that gradients find their own way back into the packed ones.
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/dense.h"
#include "qkv/layer/block.h"
#include "qkv/op/linear.h"
#include "qkv/op/shape.h"
#include "test/golden_test/case.h"

namespace qkv::golden::layer_cases {

// In a ..._padding_mask (B,S) 1 means ignored.
MaskPtr padding_of(Case& c, const std::string& name) {
  if (!c.holds(name)) return {};
  Tensor visible = c.tensor(name).clone().reshape({c.tensor(name).dim(0), 1, 1, c.tensor(name).dim(1)});
  for (uint8_t& x : visible.span<uint8_t>()) x = x == 0;
  return dense(visible);
}

MaskPtr causal_if(bool wanted) { return wanted ? causal() : MaskPtr(); }

// ---- Weights ----

// Part n of the rows of a matrix, or of a vector, that holds `parts` of equal size.
Variable part(const Variable& packed, int64_t parts, int64_t n) {
  if (!packed.defined()) return {};
  const int64_t rows = packed.dim(0) / parts;
  return slice(packed, 0, n * rows, (n + 1) * rows);
}

// The same where the rows are head after head, each with its parts.
Variable part_of_heads(const Variable& packed, int64_t heads, int64_t parts, int64_t n) {
  if (!packed.defined()) return {};
  const int64_t rows = packed.dim(0), width = rows / (heads * parts);
  const int64_t columns = packed.value().rank() == 2 ? packed.dim(1) : 1;
  const Variable chosen = slice(reshape(packed, {heads, parts, width, columns}), 1, n, n + 1);
  return packed.value().rank() == 2 ? reshape(chosen, {heads * width, columns}) : reshape(chosen, {heads * width});
}

void set(Linear& linear, const Variable& weight, const Variable& bias) {
  linear.weight = Parameter(weight);
  linear.bias = Parameter(bias);
}
void set(Case& c, Linear& linear, const std::string& name) {
  set(linear, c.leaf(name + ".weight"), c.leaf_if_held(name + ".bias"));
}
void set(Case& c, Norm& norm, const std::string& name) {
  norm.weight = Parameter(c.leaf(name + ".weight"));
  norm.bias = Parameter(c.leaf(name + ".bias"));
}

// The parameters of torch.nn.MultiheadAttention.
void set(Case& c, MultiHeadAttention& attention, const std::string& prefix) {
  const Variable packed = c.leaf_if_held(prefix + "in_proj_weight"), bias = c.leaf_if_held(prefix + "in_proj_bias");
  const auto weight = [&](const char* own, int64_t n) {
    return packed.defined() ? part(packed, 3, n) : c.leaf(prefix + own);
  };
  set(attention.projection.query, weight("q_proj_weight", 0), part(bias, 3, 0));
  set(attention.projection.key, weight("k_proj_weight", 1), part(bias, 3, 1));
  set(attention.projection.value, weight("v_proj_weight", 2), part(bias, 3, 2));
  set(c, attention.out, prefix + "out_proj");
}

// ---- Attention layers ----

// Runs the layer, and meets weights, out and all gradients.
void finish_attention(Case& c, const MultiHeadAttention& layer, const Variable (&x)[3], const MaskPtr& mask) {
  c.no_other_inputs();
  AttentionLog log;
  Pass pass{.log = &log};
  const Variable out = layer.forward(x[0], x[1], x[2], mask, pass);
  c.compare("out", out.value());
  c.compare_if_held("weights", log.entries.at(0).weights);
  c.backward(out);
}

void one_head_case(Case& c) {
  c.knows_arguments({"layer", "embed_dim", "num_heads", "causal", "dk"});
  const int64_t dk = c.integer("dk"), width = c.integer("embed_dim");
  const Variable packed = linear(c.leaf("x"), c.leaf("qkv.weight"), c.leaf_if_held("qkv.bias"));
  c.no_other_inputs();
  const auto columns = [&](int64_t begin, int64_t end) { return split_heads(slice(packed, 2, begin, end), 1); };
  const auto [y, weights, lse] = attention_with_weights(
      columns(0, dk), columns(dk, 2 * dk), columns(2 * dk, 2 * dk + width), {.mask = causal_if(c.flag("causal"))});
  const Variable out = join_heads(y);
  c.compare("out", out.value());
  c.compare_if_held("weights", weights.select(1, 0));
  c.backward(out);
}

void multi_head_case(Case& c) {
  c.knows_arguments({"layer", "embed_dim", "num_heads", "causal"});
  MultiHeadAttention layer({.d_model = c.integer("embed_dim"), .heads = c.integer("num_heads")});
  const Variable w = c.leaf("qkv.weight"), b = c.leaf_if_held("qkv.bias"), x = c.leaf("x");
  Linear* projections[] = {&layer.projection.query, &layer.projection.key, &layer.projection.value};
  for (int64_t n = 0; n < 3; ++n) set(*projections[n], part(w, 3, n), part(b, 3, n));
  set(c, layer.out, "fc");
  finish_attention(c, layer, {x, x, x}, causal_if(c.flag("causal")));
}

void packed_per_head_case(Case& c) {
  c.knows_arguments({"layer", "embed_dim", "num_heads", "causal", "input_dim"});
  const int64_t heads = c.integer("num_heads");
  MultiHeadAttention layer({.d_model = c.integer("embed_dim"), .heads = heads});
  const Variable w = c.leaf("qkv_proj.weight"), b = c.leaf_if_held("qkv_proj.bias"), x = c.leaf("x");
  Linear* projections[] = {&layer.projection.query, &layer.projection.key, &layer.projection.value};
  for (int64_t n = 0; n < 3; ++n)
    set(*projections[n], part_of_heads(w, heads, 3, n), part_of_heads(b, heads, 3, n));
  set(c, layer.out, "o_proj");
  MaskPtr mask = causal_if(c.flag("causal"));
  if (c.holds("mask")) mask = mask & dense(c.tensor("mask"));
  finish_attention(c, layer, {x, x, x}, mask);
}

void separate_case(Case& c) {
  c.knows_arguments({"layer", "embed_dim", "num_heads", "causal"});
  MultiHeadAttention layer({.d_model = c.integer("embed_dim"), .heads = c.integer("num_heads")});
  set(c, layer.projection.query, "q_linear");
  set(c, layer.projection.key, "k_linear");
  set(c, layer.projection.value, "v_linear");
  set(c, layer.out, "out_linear");
  MaskPtr mask = causal_if(c.flag("causal"));
  if (c.holds("mask")) mask = mask & dense(c.tensor("mask"));
  finish_attention(c, layer, {c.leaf("q"), c.leaf("k"), c.leaf("v")}, mask);
}

void torch_attention_case(Case& c) {
  c.knows_arguments({"layer", "embed_dim", "num_heads", "causal", "bias", "kdim", "vdim"});
  MultiHeadAttention layer({.d_model = c.integer("embed_dim"), .heads = c.integer("num_heads")});
  set(c, layer, "");
  const auto source = [&](const char* name) { return c.holds("x") ? c.leaf("x") : c.leaf(name); };
  const MaskPtr mask = causal_if(c.flag("causal")) & padding_of(c, "key_padding_mask");
  finish_attention(c, layer, {source("query"), source("key"), source("value")}, mask);
}

// ---- Encoder and decoder ----

BlockOptions block_options(Case& c) {
  const std::string activation = c.has("activation") ? c.text("activation") : "relu";
  if (activation != "relu" && activation != "gelu") throw NotBuilt("activation " + activation + " is not known");
  BlockOptions options{.d_model = c.integer("d_model"),
                       .heads = c.integer("nhead"),
                       .ffn = c.integer("dim_feedforward"),
                       .norm_order = c.flag("norm_first") ? NormOrder::pre : NormOrder::post,
                       .activation = activation == "gelu" ? Activation::gelu : Activation::relu};
  if (c.has("layer_norm_eps")) options.norm.eps = static_cast<float>(c.number("layer_norm_eps"));
  return options;
}

// The parameters of torch.nn.TransformerEncoderLayer and TransformerDecoderLayer.
Block block(Case& c, const BlockOptions& options, const std::string& prefix) {
  Block block(options);
  set(c, block.self_attention, prefix + "self_attn.");
  if (block.cross_attention) set(c, *block.cross_attention, prefix + "multihead_attn.");
  set(c, block.feed_forward.up, prefix + "linear1");
  set(c, block.feed_forward.down, prefix + "linear2");
  for (size_t n = 0; n < block.residuals.size(); ++n)
    set(c, block.residuals[n].norm, fmt::format("{}norm{}", prefix, n + 1));
  return block;
}

Block encoder_block(Case& c, const std::string& prefix) { return block(c, block_options(c), prefix); }

Block decoder_block(Case& c, const std::string& prefix) {
  BlockOptions options = block_options(c);
  options.has_cross_attention = true;
  return block(c, options, prefix);
}

Variable decode(const Block& block, const Variable& x, const Variable& encoded, const MaskPtr& self_mask,
                const MaskPtr& memory_mask) {
  Pass pass;
  return block.forward(x, self_mask, {block.cross_attention->project(encoded, encoded), memory_mask}, pass);
}

void finish_with(Case& c, const Variable& out) {
  c.no_other_inputs();
  c.compare("out", out.value());
  c.backward(out);
}

void encoder_layer_case(Case& c) {
  c.knows_arguments({"layer", "d_model", "nhead", "dim_feedforward", "activation", "norm_first", "layer_norm_eps"});
  Pass pass;
  finish_with(c, encoder_block(c, "").forward(c.leaf("src"), padding_of(c, "src_key_padding_mask"), pass));
}

void decoder_layer_case(Case& c) {
  c.knows_arguments(
      {"layer", "d_model", "nhead", "dim_feedforward", "activation", "norm_first", "layer_norm_eps", "tgt_causal"});
  const MaskPtr self = causal_if(c.flag("tgt_causal")) & padding_of(c, "tgt_key_padding_mask");
  finish_with(c, decode(decoder_block(c, ""), c.leaf("tgt"), c.leaf("memory"), self,
                        padding_of(c, "memory_key_padding_mask")));
}

void transformer_case(Case& c) {
  c.knows_arguments({"layer", "d_model", "nhead", "dim_feedforward", "activation", "norm_first", "layer_norm_eps",
                     "tgt_causal", "num_encoder_layers", "num_decoder_layers"});
  const NormOptions options = block_options(c).norm;
  const auto normed = [&](const Variable& x, const std::string& name) {
    Norm norm(x.dim(-1), options);
    set(c, norm, name);
    return norm.forward(x);
  };
  Pass pass;
  Variable x = c.leaf("src"), y = c.leaf("tgt");
  const MaskPtr source = padding_of(c, "src_key_padding_mask"), memory = padding_of(c, "memory_key_padding_mask");
  const MaskPtr self = causal_if(c.flag("tgt_causal")) & padding_of(c, "tgt_key_padding_mask");
  for (int64_t n = 0; n < c.integer("num_encoder_layers"); ++n)
    x = encoder_block(c, fmt::format("encoder.layers.{}.", n)).forward(x, source, pass);
  x = normed(x, "encoder.norm");
  for (int64_t n = 0; n < c.integer("num_decoder_layers"); ++n)
    y = decode(decoder_block(c, fmt::format("decoder.layers.{}.", n)), y, x, self, memory);
  finish_with(c, normed(y, "decoder.norm"));
}

void layer(Case& c) {
  const std::string kind = c.text("layer");
  if (kind == "attention") return one_head_case(c);
  if (kind == "multi_head") return multi_head_case(c);
  if (kind == "packed_per_head") return packed_per_head_case(c);
  if (kind == "separate") return separate_case(c);
  if (kind == "torch.nn.MultiheadAttention") return torch_attention_case(c);
  if (kind == "torch.nn.TransformerEncoderLayer") return encoder_layer_case(c);
  if (kind == "torch.nn.TransformerDecoderLayer") return decoder_layer_case(c);
  if (kind == "torch.nn.Transformer") return transformer_case(c);
  throw NotBuilt("layer " + kind + " is not known");
}

const Group group("layer", layer);

}  // namespace qkv::golden::layer_cases
