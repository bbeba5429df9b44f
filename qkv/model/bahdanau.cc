#include "qkv/model/bahdanau.h"

#include "qkv/base/error.h"
#include "qkv/model/recurrent_config.h"

namespace qkv {
namespace {

RecurrentConfig checked_bahdanau(const TransformerConfig& config) {
  config.check();
  require<UsageError>(config.architecture == Architecture::bahdanau, "Bahdanau",
                      "the architecture must be bahdanau, got {}", name_of(config.architecture));
  return recurrent_config(config);
}

RecurrentOptions bahdanau_encoder(const RecurrentConfig& config) {
  return {.cell = CellKind::gru,
          .input_width = config.d_model,
          .width = config.d_model,
          .layers = config.encoder_layers,
          .bidirectional = true,
          .dropout = config.dropout};
}

BahdanauDecoderOptions bahdanau_decoder(const RecurrentConfig& config) {
  return {.width = config.d_model,
          .encoder_width = config.encoder_width(),
          .embedding_width = config.d_model,
          .variant = config.attention(),
          .dropout = config.dropout};
}

}  // namespace

Bahdanau::Bahdanau(const TransformerConfig& config)
    : RecurrentEncoderDecoder(config, bahdanau_encoder(checked_bahdanau(config)),
                              BahdanauDecoder(bahdanau_decoder(checked_bahdanau(config)))) {}

Bahdanau::Bahdanau(const TransformerConfig& config, uint64_t seed) : Bahdanau(config) { initialise("", seed); }

BahdanauDecoder::State Bahdanau::first_state(const Encoded& encoded) const {
  return decoder().start(encoded.memory);
}

}  // namespace qkv
