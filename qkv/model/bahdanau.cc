#include "qkv/model/bahdanau.h"

namespace qkv {
namespace {

const TransformerConfig& checked_bahdanau(const TransformerConfig& config) {
  config.check();
  require<UsageError>(config.architecture == Architecture::bahdanau, "Bahdanau",
                      "the architecture must be bahdanau, got {}", name_of(config.architecture));
  return config;
}

BahdanauDecoderOptions bahdanau_decoder(const TransformerConfig& config) {
  return {.width = config.d_model,
          .encoder_width = 2 * config.d_model,
          .embedding_width = config.d_model,
          .variant = config.recurrent_attention(),
          .dropout = config.dropout};
}

}  // namespace

Bahdanau::Bahdanau(const TransformerConfig& config)
    : RecurrentEncoderDecoder(checked_bahdanau(config),
                              {.cell = CellKind::gru,
                               .input_width = config.d_model,
                               .width = config.d_model,
                               .layers = config.encoder_layers,
                               .bidirectional = true,
                               .dropout = config.dropout},
                              BahdanauDecoder(bahdanau_decoder(checked_bahdanau(config)))) {}

Bahdanau::Bahdanau(const TransformerConfig& config, uint64_t seed) : Bahdanau(config) { initialise("", seed); }

BahdanauDecoder::State Bahdanau::first_state(const Encoded& encoded) const {
  return decoder().start(encoded.memory);
}

}  // namespace qkv
