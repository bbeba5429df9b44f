// What a person may choose of a Transformer, row by row: name, unit, help, and the field of TransformerConfig.
//
//     visit_architecture(config, [](const Setting& setting, auto& field) { ... });
#pragma once

#include "qkv/base/setting.h"
#include "qkv/model/config.h"

namespace qkv {

template <class Config, class Visitor>
void visit_architecture(Config& c, Visitor&& visitor) {
  visitor(Setting{"d-model", "N", "width C of the model"}, c.d_model);
  visitor(Setting{"heads", "N", "query heads H; divides d-model"}, c.heads);
  visitor(Setting{"kv-heads", "N", "key/value heads G; divides heads; 0: as many"}, c.kv_heads);
  visitor(Setting{"ffn", "N", "width F of the feed-forward network"}, c.ffn);
  visitor(Setting{"encoder-layers", "N", "encoder layers"}, c.encoder_layers);
  visitor(Setting{"decoder-layers", "N", "decoder layers"}, c.decoder_layers);
  visitor(Setting{"dropout", "RATE", "of embeddings and sublayers"}, c.dropout);
  visitor(Setting{"attention-dropout", "RATE", "of attention weights"}, c.attention_dropout);
  visitor(Setting{"ffn-dropout", "RATE", "inside the feed-forward network"}, c.ffn_dropout);
  visitor(Setting{"norm", "", "where the layer norm stands"}, c.norm_order);
  visitor(Setting{"activation", "", "of the feed-forward network"}, c.activation);
  visitor(Setting{"positions", "", "how positions are told"}, c.positions);
  visitor(Setting{"self-attention", "WORDS", "words joined by +: of encoder and decoder"}, c.self_attention);
  visitor(Setting{"cross-attention", "WORDS", "words joined by +: of the decoder to the source"},
          c.cross_attention);
  visitor(Setting{"tie", "", "embeddings that share one matrix; all makes one vocabulary for both languages"},
          c.tie);
}

}  // namespace qkv
