#include "qkv/model/luong.h"

namespace qkv {
namespace {

LuongDecoder luong_decoder(const RecurrentConfig& config) {
  return LuongDecoder({.width = config.d_model,
                       .encoder_width = config.encoder_width(),
                       .embedding_width = config.d_model,
                       .layers = config.decoder_layers,
                       .variant = config.attention(),
                       .dropout = config.dropout});
}

}  // namespace

Luong::Luong(const RecurrentConfig& config)
    : RecurrentEncoderDecoder(config, luong_decoder(checked_recurrent(config, architecture))) {}

Luong::Luong(const RecurrentConfig& config, uint64_t seed) : Luong(config) { initialise("", seed); }

LuongDecoder::State Luong::first_state(const Encoded& encoded) const { return decoder().start({encoded.state}); }

}  // namespace qkv
