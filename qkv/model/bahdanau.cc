#include "qkv/model/bahdanau.h"

#include "qkv/model/recurrent_config.h"

namespace qkv {
namespace {

BahdanauDecoder bahdanau_decoder(const RecurrentConfig& config) {
  return BahdanauDecoder({.width = config.d_model,
                          .encoder_width = config.encoder_width(),
                          .embedding_width = config.d_model,
                          .variant = config.attention(),
                          .dropout = config.dropout});
}

}  // namespace

Bahdanau::Bahdanau(const TransformerConfig& config)
    : RecurrentEncoderDecoder(config, recurrent_config(config, architecture).encoder(),
                              bahdanau_decoder(recurrent_config(config, architecture))) {}

Bahdanau::Bahdanau(const TransformerConfig& config, uint64_t seed) : Bahdanau(config) { initialise("", seed); }

BahdanauDecoder::State Bahdanau::first_state(const Encoded& encoded) const {
  return decoder().start(encoded.memory);
}

}  // namespace qkv
