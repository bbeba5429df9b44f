#include "qkv/model/recurrent_config.h"

#include "qkv/base/error.h"
#include "qkv/model/architecture_table.h"
#include "qkv/model/config_check.h"

namespace qkv {

AttentionVariant RecurrentConfig::attention() const {
  AttentionVariant variant = cross_attention.of_layer(0);
  if (variant.has(AttentionMechanism::Role::score)) return variant;
  return architecture == Architecture::bahdanau ? variant + Additive{} : variant + Dot{};
}

RecurrentOptions RecurrentConfig::encoder() const {
  const bool is_bahdanau = architecture == Architecture::bahdanau;
  return {.cell = is_bahdanau ? CellKind::gru : CellKind::lstm,
          .input_width = d_model,
          .width = d_model,
          .layers = encoder_layers,
          .bidirectional = is_bahdanau,
          .dropout = dropout};
}

void RecurrentConfig::check() const {
  require<UsageError>(is_recurrent(architecture), "model", "a {} model has a TransformerConfig",
                      name_of(architecture));
  visit_fields(*this, CheckRanges{"model"});
  check_tie(tie, source_vocabulary, target_vocabulary);
  require<UsageError>(cross_attention.groups().size() <= 1, "model",
                      "a {} model has one attention, cross-attention must be one variant, got '{}'",
                      name_of(architecture), to_string(cross_attention));
  require<UsageError>(architecture != Architecture::bahdanau || decoder_layers == 1, "model",
                      "the decoder of a bahdanau model has 1 layer, got decoder-layers {}", decoder_layers);
  require<UsageError>(architecture != Architecture::luong || encoder_layers == decoder_layers, "model",
                      "a luong model has as many encoder-layers as decoder-layers, got {} and {}", encoder_layers,
                      decoder_layers);
  const AttentionVariant variant = attention();
  const int64_t C = d_model, E = encoder_width();
  check_variant(variant,
                {.use = AttentionUse::cross,
                 .d_model = C,
                 .head_width = C,
                 .query_width = C,
                 .key_width = E,
                 .value_width = E},
                "cross-attention");
  require<UsageError>(E == C || variant.get<Additive>() || variant.get<Bilinear>() || !variant.reads_keys(),
                      "model",
                      "the encoder states of a bahdanau model are twice as wide as those of its decoder: "
                      "cross-attention must be additive, bilinear or location, got {}",
                      to_string(cross_attention));
}

const RecurrentConfig& checked_recurrent(const RecurrentConfig& config, Architecture architecture) {
  config.check();
  require<UsageError>(config.architecture == architecture, name_of(architecture),
                      "the architecture must be {}, got {}", name_of(architecture), name_of(config.architecture));
  return config;
}

}  // namespace qkv
