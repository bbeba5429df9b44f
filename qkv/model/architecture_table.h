// The settings of a Transformer's architecture, row by row: name, unit, help, range, and the field of TransformerConfig.
//
//     visit_architecture(config, [](const Setting& setting, auto& field) { ... });
#pragma once

#include "qkv/base/setting.h"
#include "qkv/model/config.h"

namespace qkv {

template <class Config, class Visitor>
void visit_architecture(Config& c, Visitor&& visitor) {
  constexpr double largest_size = 1 << 24;
  visitor(
      Setting{"architecture", "",
              "class of the model: transformer, an encoder-decoder trained on sentence pairs; causal, a language "
              "model, "
              "and masked, a model that predicts masked tokens, both trained on plain text; bahdanau and luong, "
              "recurrent encoder-decoders"},
      c.architecture);
  visitor(Setting{"d-model", "N", "width C of the model", {.from = 1, .to = largest_size}}, c.d_model);
  visitor(Setting{"heads",
                  "N",
                  "query heads H; divides d-model unless head-width is given",
                  {.from = 1, .to = largest_size}},
          c.heads);
  visitor(Setting{"kv-heads",
                  "N",
                  "key/value heads G (grouped-query); divides heads; 0: equal to heads",
                  {.from = 0, .to = largest_size}},
          c.kv_heads);
  visitor(Setting{"head-width", "N", "width D of a head; 0: d-model / heads", {.from = 0, .to = 65536}},
          c.head_width);
  visitor(Setting{"query-key-norm", "true|false", "normalize the queries and keys of every head"},
          c.query_key_norm);
  visitor(Setting{"attention-bias", "true|false", "biases of the attention projections"}, c.attention_bias);
  visitor(Setting{"ffn", "N", "width F of the feed-forward network", {.from = 1, .to = largest_size}}, c.ffn);
  visitor(Setting{"gated-ffn", "true|false", "gated feed-forward network (SwiGLU, GEGLU)"}, c.gated_ffn);
  visitor(Setting{"ffn-bias", "true|false", "biases of the feed-forward network"}, c.ffn_bias);
  visitor(Setting{"encoder-layers", "N", "number of encoder layers", {.from = 1, .to = 1000}}, c.encoder_layers);
  visitor(Setting{"decoder-layers", "N", "number of decoder layers", {.from = 1, .to = 1000}}, c.decoder_layers);
  visitor(Setting{"dropout", "RATE", "dropout of embeddings and sublayers", below_one}, c.dropout);
  visitor(Setting{"attention-dropout", "RATE", "dropout of attention weights", below_one}, c.attention_dropout);
  visitor(Setting{"ffn-dropout", "RATE", "dropout inside the feed-forward network", below_one}, c.ffn_dropout);
  visitor(
      Setting{"norm", "",
              "norms after (post) or before (pre) every sublayer, or both (sandwich); pre-residual: before, and "
              "the residual connection begins after the norm; parallel: all sublayers of a block read the same "
              "input"},
      c.norm_order);
  visitor(Setting{"norm-kind", "", "layer norm or RMS norm"}, c.norm_kind);
  visitor(Setting{"norm-eps", "NUMBER", "added to the variance in a norm", {.above = 0, .below = 1}}, c.norm_eps);
  visitor(Setting{"activation", "", "activation of the feed-forward network"}, c.activation);
  visitor(Setting{"positions", "", "position encoding"}, c.positions);
  visitor(Setting{"max-positions",
                  "N",
                  "maximum tokens of a sequence with sinusoidal or learned positions",
                  {.from = 1, .to = largest_size}},
          c.max_positions);
  visitor(Setting{"self-attention", "VARIANT",
                  "attention variant of encoder and decoder self-attention, or one for each layer in turn: "
                  "full*1,window=64*3"},
          c.self_attention);
  visitor(Setting{"encoder-self-attention", "VARIANT", "attention variant of encoder self-attention only"},
          c.self_attention.encoder);
  visitor(Setting{"decoder-self-attention", "VARIANT", "attention variant of decoder self-attention only"},
          c.self_attention.decoder);
  visitor(
      Setting{"cross-attention", "VARIANT", "attention variant of cross-attention, or one for each layer in turn"},
      c.cross_attention);
  visitor(Setting{"tie", "", "embeddings that share one matrix; all: one vocabulary for both languages"}, c.tie);
}

}  // namespace qkv
