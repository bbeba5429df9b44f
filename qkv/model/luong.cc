#include "qkv/model/luong.h"

#include "qkv/model/recurrent_config.h"

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

Luong::Luong(const TransformerConfig& config)
    : RecurrentEncoderDecoder(config, recurrent_config(config, architecture).encoder(),
                              luong_decoder(recurrent_config(config, architecture))) {}

Luong::Luong(const TransformerConfig& config, uint64_t seed) : Luong(config) { initialise("", seed); }

LuongDecoder::State Luong::first_state(const Encoded& encoded) const { return decoder().start({encoded.state}); }

}  // namespace qkv
