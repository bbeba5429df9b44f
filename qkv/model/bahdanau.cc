#include "qkv/model/bahdanau.h"

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

Bahdanau::Bahdanau(const RecurrentConfig& config)
    : RecurrentEncoderDecoder(config, bahdanau_decoder(checked_recurrent(config, architecture))) {}

Bahdanau::Bahdanau(const RecurrentConfig& config, uint64_t seed) : Bahdanau(config) { initialise("", seed); }

BahdanauDecoder::State Bahdanau::first_state(const Encoded& encoded) const {
  return decoder().start(encoded.memory);
}

}  // namespace qkv
