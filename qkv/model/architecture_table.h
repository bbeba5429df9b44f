// Every field of TransformerConfig and of RecurrentConfig, row by row: name, unit, help, range, the models that
// have it, and its key in config.json. From these rows follow the flags, settings files, arguments of Python,
// config.json, the checks of ranges, and the errors for settings that an architecture does not have. Their order is
// that of config.json and of the help.
//
//     visit_fields(config, [](const Setting& setting, auto& field, const FieldUse& use) { ... });
//
// architecture_settings.h has those that users choose.
#pragma once

#include <type_traits>

#include "qkv/base/setting.h"
#include "qkv/model/config.h"

namespace qkv {

// The models that have a field. In others it keeps its default.
enum class Models { all, transformers, encoder_decoders, causal };
constexpr auto names_of(Models) {
  return std::array{Named{Models::all, "all models"}, Named{Models::transformers, "Transformers"},
                    Named{Models::encoder_decoders, "encoder-decoder Transformers"},
                    Named{Models::causal, "causal models"}};
}
constexpr bool has_field(Models models, Architecture architecture) {
  switch (models) {
    case Models::all: return true;
    case Models::transformers: return !is_recurrent(architecture);
    case Models::encoder_decoders: return architecture == Architecture::encoder_decoder;
    case Models::causal: return architecture == Architecture::causal;
  }
  return false;
}

struct FieldUse {
  enum class InFile { always, when_changed, only_read };  // only_read: in files of version 0.1

  Models models = Models::transformers;
  InFile file = InFile::always;
  const char* key = nullptr;  // in config.json; null: the name of the setting, with underscores
};
std::string key_of(const Setting& setting, const FieldUse& use);
// UsageError: "train: heads is for Transformers: a luong model has none".
void require_field(std::string_view where, const Setting& setting, const FieldUse& use, Architecture architecture);

// A TransformerConfig has all rows, a RecurrentConfig those of Models::all.
template <class Config>
constexpr bool has_transformer_fields = std::is_same_v<std::remove_const_t<Config>, TransformerConfig>;

namespace architecture_table {

inline constexpr double largest_size = 1 << 24;
inline constexpr Range size = {.from = 1, .to = largest_size}, size_or_0 = {.from = 0, .to = largest_size};
inline constexpr Range small_or_0 = {.from = 0, .to = 65536}, layers = {.from = 1, .to = 1000};
inline constexpr FieldUse of_all = {.models = Models::all}, of_transformers = {};

// Numbers that follow from the tokenizers.
template <class Config, class Visitor>
void visit_vocabularies(Config& c, Visitor&& visitor) {
  visitor(Setting{"source-vocabulary", "TOKENS", "size V of the source vocabulary", size}, c.source_vocabulary,
          of_all);
  visitor(Setting{"target-vocabulary", "TOKENS", "size V of the target vocabulary", size}, c.target_vocabulary,
          of_all);
}

template <class Config, class Visitor>
void visit_widths(Config& c, Visitor&& visitor) {
  visitor(Setting{"heads", "N", "query heads H; divides d-model unless head-width is given", size}, c.heads,
          of_transformers);
  visitor(
      Setting{"kv-heads", "N", "key/value heads G (grouped-query); divides heads; 0: equal to heads", size_or_0},
      c.kv_heads, of_transformers);
  visitor(Setting{"head-width", "N", "width D of a head; 0: d-model / heads", small_or_0}, c.head_width,
          of_transformers);
  visitor(Setting{"ffn", "N", "width F of the feed-forward network", size}, c.ffn, of_transformers);
}

template <class Config, class Visitor>
void visit_sublayers(Config& c, Visitor&& visitor) {
  visitor(Setting{"attention-dropout", "RATE", "dropout of attention weights", below_one}, c.attention_dropout,
          of_transformers);
  visitor(Setting{"ffn-dropout", "RATE", "dropout inside the feed-forward network", below_one}, c.ffn_dropout,
          of_transformers);
  visitor(
      Setting{
          "norm", "",
          "norms after (post) or before (pre) every sublayer, or both (sandwich); pre-residual: before, and the "
          "residual connection begins after the norm; parallel: all sublayers of a block read the same input, "
          "parallel-shared: "
          "through the same norm"},
      c.norm_order, FieldUse{.key = "norm_order"});
  visitor(Setting{"norm-kind", "", "layer norm or RMS norm"}, c.norm_kind, of_transformers);
  visitor(Setting{"norm-eps", "NUMBER", "added to the variance in a norm", {.above = 0, .below = 1}}, c.norm_eps,
          of_transformers);
  visitor(Setting{"activation", "", "activation of the feed-forward network"}, c.activation, of_transformers);
  visitor(Setting{"gated-ffn", "true|false", "gated feed-forward network (SwiGLU, GEGLU)"}, c.gated_ffn,
          of_transformers);
  visitor(Setting{"positions", "", "position encoding"}, c.positions, of_transformers);
}

template <class Config, class Visitor>
void visit_self_attention(Config& c, Visitor&& visitor) {
  visitor(Setting{"attention-bias", "true|false", "biases of the attention projections"}, c.attention_bias,
          of_transformers);
  visitor(Setting{"ffn-bias", "true|false", "biases of the feed-forward network"}, c.ffn_bias, of_transformers);
  visitor(Setting{"query-key-norm", "true|false", "normalize the queries and keys of every head"}, c.query_key_norm,
          of_transformers);
  visitor(Setting{"self-attention", "VARIANT",
                  "attention variant of encoder and decoder self-attention, or one for each layer in turn: "
                  "full*1,window=64*3"},
          c.self_attention, FieldUse{.file = FieldUse::InFile::only_read});
  visitor(Setting{"encoder-self-attention", "VARIANT", "attention variant of encoder self-attention only"},
          c.self_attention.encoder, of_transformers);
  visitor(Setting{"decoder-self-attention", "VARIANT", "attention variant of decoder self-attention only"},
          c.self_attention.decoder, of_transformers);
}

template <class Field, class Visitor>
void visit_architecture(Field& architecture, Visitor&& visitor) {
  visitor(Setting{"architecture", "",
                  "class of the model: transformer, an encoder-decoder trained on sentence pairs; causal, a "
                  "language model, and masked, a model that predicts masked tokens, both trained on plain text; "
                  "bahdanau and luong, recurrent encoder-decoders"},
          architecture, of_all);
}

// Settings that users choose: each row is a flag, and so is the architecture.
template <class Config, class Visitor>
void visit_settings(Config& c, Visitor&& visitor) {
  constexpr bool of_transformer = has_transformer_fields<Config>;
  visitor(Setting{"d-model", "N", "width C of the model", size}, c.d_model, of_all);
  if constexpr (of_transformer) visit_widths(c, visitor);
  visitor(Setting{"encoder-layers", "N", "number of encoder layers", layers}, c.encoder_layers, of_all);
  visitor(Setting{"decoder-layers", "N", "number of decoder layers", layers}, c.decoder_layers, of_all);
  visitor(Setting{"dropout", "RATE", "dropout of embeddings and sublayers", below_one}, c.dropout, of_all);
  if constexpr (of_transformer) visit_sublayers(c, visitor);
  visitor(Setting{"tie", "", "embeddings that share one matrix; all: one vocabulary for both languages"}, c.tie,
          of_all);
  if constexpr (of_transformer) visit_self_attention(c, visitor);
  visitor(
      Setting{"cross-attention", "VARIANT", "attention variant of cross-attention, or one for each layer in turn"},
      c.cross_attention, of_all);
  if constexpr (of_transformer)
    visitor(
        Setting{"max-positions", "N", "maximum tokens of a sequence with sinusoidal or learned positions", size},
        c.max_positions, of_transformers);
}

// Settings that only published families use: they have no flags.
template <class Config, class Visitor>
void visit_published(Config& c, Visitor&& visitor) {
  const auto row = [&](const char* name, auto& field, const Range& range = {},
                       Models models = Models::transformers) {
    visitor(Setting{name, "", "", range}, field,
            FieldUse{.models = models, .file = FieldUse::InFile::when_changed});
  };
  row("attention-output-bias", c.attention_output_bias);
  row("decoder-heads", c.decoder_heads, size_or_0, Models::encoder_decoders);
  row("decoder-ffn", c.decoder_ffn, size_or_0, Models::encoder_decoders);
  row("norm-weight-offset", c.norm_weight_offset, {.from = -1e4, .to = 1e4});
  row("embedding-width", c.embedding_width, small_or_0, Models::causal);
  row("embedding-scale", c.embedding_scale, {.from = 0, .to = 1e6});
  row("embedding-norm", c.embedding_norm);
  row("token-types", c.token_types, small_or_0);
  row("position-offset", c.position_offset, small_or_0);
  row("sinusoids", c.sinusoids);
  row("head", c.head);
  row("head-activation", c.head_activation);
  row("output-bias", c.output_bias);
  row("output-scale", c.output_scale, {.from = 1e-6, .to = 1e6});
  row("logit-softcap", c.logit_softcap, {.from = 0, .to = 1e6});
  row("context-length", c.context_length, size_or_0);
}

}  // namespace architecture_table

template <class Config, class Visitor>
void visit_fields(Config& c, Visitor&& visitor) {
  architecture_table::visit_vocabularies(c, visitor);
  architecture_table::visit_architecture(c.architecture, visitor);
  architecture_table::visit_settings(c, visitor);
  if constexpr (has_transformer_fields<Config>) architecture_table::visit_published(c, visitor);
}

}  // namespace qkv
