#include "qkv/model/luong.h"

namespace qkv {
namespace {

const TransformerConfig& checked_luong(const TransformerConfig& config) {
  config.check();
  require<UsageError>(config.architecture == Architecture::luong, "Luong", "the architecture must be luong, got {}",
                      name_of(config.architecture));
  return config;
}

LuongDecoderOptions luong_decoder(const TransformerConfig& config) {
  return {.width = config.d_model,
          .encoder_width = config.d_model,
          .embedding_width = config.d_model,
          .layers = config.decoder_layers,
          .variant = config.recurrent_attention(),
          .dropout = config.dropout};
}

}  // namespace

Luong::Luong(const TransformerConfig& config)
    : RecurrentEncoderDecoder(checked_luong(config),
                              {.cell = CellKind::lstm,
                               .input_width = config.d_model,
                               .width = config.d_model,
                               .layers = config.encoder_layers,
                               .dropout = config.dropout},
                              LuongDecoder(luong_decoder(checked_luong(config)))) {}

Luong::Luong(const TransformerConfig& config, uint64_t seed) : Luong(config) { initialise("", seed); }

LuongDecoder::State Luong::first_state(const Encoded& encoded) const { return decoder().start({encoded.state}); }

}  // namespace qkv
