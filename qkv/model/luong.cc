#include "qkv/model/luong.h"

#include "qkv/base/error.h"
#include "qkv/model/recurrent_config.h"

namespace qkv {
namespace {

RecurrentConfig checked_luong(const TransformerConfig& config) {
  config.check();
  require<UsageError>(config.architecture == Architecture::luong, "Luong", "the architecture must be luong, got {}",
                      name_of(config.architecture));
  return recurrent_config(config);
}

RecurrentOptions luong_encoder(const RecurrentConfig& config) {
  return {.cell = CellKind::lstm,
          .input_width = config.d_model,
          .width = config.d_model,
          .layers = config.encoder_layers,
          .dropout = config.dropout};
}

LuongDecoderOptions luong_decoder(const RecurrentConfig& config) {
  return {.width = config.d_model,
          .encoder_width = config.encoder_width(),
          .embedding_width = config.d_model,
          .layers = config.decoder_layers,
          .variant = config.attention(),
          .dropout = config.dropout};
}

}  // namespace

Luong::Luong(const TransformerConfig& config)
    : RecurrentEncoderDecoder(config, luong_encoder(checked_luong(config)),
                              LuongDecoder(luong_decoder(checked_luong(config)))) {}

Luong::Luong(const TransformerConfig& config, uint64_t seed) : Luong(config) { initialise("", seed); }

LuongDecoder::State Luong::first_state(const Encoded& encoded) const { return decoder().start({encoded.state}); }

}  // namespace qkv
