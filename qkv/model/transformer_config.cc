#include "qkv/model/transformer_config.h"

#include <algorithm>
#include <cmath>

#include "qkv/model/position_mechanism.h"

namespace qkv {
namespace {

BlockOptions block_options(const TransformerConfig& c, const AttentionPattern& self_attention, int64_t index) {
  return {.d_model = c.d_model,
          .heads = c.heads,
          .kv_heads = c.kv_heads,
          .head_width = c.head_width,
          .ffn = c.ffn,
          .norm_order = c.norm_order,
          .norm = c.norm_options(),
          .activation = c.activation,
          .gated_ffn = c.gated_ffn,
          .attention_bias = {.query = c.attention_bias,
                             .key = c.attention_bias,
                             .value = c.attention_bias,
                             .out = c.attention_output_bias.value_or(c.attention_bias)},
          .ffn_bias = c.ffn_bias,
          .query_key_norm = c.query_key_norm,
          .dropout = c.dropout,
          .attention_dropout = c.attention_dropout,
          .ffn_dropout = c.ffn_dropout,
          .self_attention = with_positions(self_attention.of_layer(index), c.positions),
          .cross_attention = c.cross_attention.of_layer(index),
          .index = index};
}

}  // namespace

std::string to_string(const SelfAttention& self_attention) {
  const auto& [encoder, decoder] = self_attention;
  if (encoder == decoder) return to_string(encoder);
  return fmt::format("{} in the encoder, {} in the decoder", to_string(encoder), to_string(decoder));
}

bool TransformerConfig::has_position_limit() const {
  return positions == Positions::sinusoidal || positions == Positions::learned;
}

int64_t TransformerConfig::position_limit() const {
  return has_position_limit() ? max_positions : unlimited_positions;
}

int64_t TransformerConfig::default_context() const {
  if (has_position_limit()) return position_limit();
  return context_length > 0 ? context_length : default_context_length;
}

bool TransformerConfig::depends_on_length() const {
  const auto depends = [](const AttentionPattern& pattern) {
    const auto& groups = pattern.groups();
    return std::any_of(groups.begin(), groups.end(),
                       [](const AttentionPattern::Group& group) { return group.variant.depends_on_length(); });
  };
  return (has_encoder() && depends(self_attention.encoder)) || (has_decoder() && depends(self_attention.decoder));
}

NormOptions TransformerConfig::norm_options() const {
  return {.kind = norm_kind, .eps = norm_eps, .weight_offset = norm_weight_offset};
}

std::optional<NormOptions> TransformerConfig::final_norm() const {
  if (!needs_final_norm(norm_order)) return {};
  return norm_options();
}

TokenEmbeddingOptions TransformerConfig::embedding_options() const {
  TokenEmbeddingOptions o = {
      .width = d_model,
      .scale = embedding_scale == 0 ? std::sqrt(static_cast<float>(d_model)) : embedding_scale,
      .sinusoids = sinusoids,
      .max_positions = max_positions,
      .position_offset = position_offset,
      .types = token_types,
      .dropout = dropout};
  if (embedding_norm) o.norm = norm_options();
  if (positions == Positions::learned) o.positions = PositionTable::learned;
  if (positions == Positions::sinusoidal) o.positions = PositionTable::sinusoidal;
  return o;
}

OutputProjectionOptions TransformerConfig::output_options() const {
  return {.width = d_model,
          .exists = head,
          .bias = output_bias || architecture == Architecture::masked,
          .scale = output_scale,
          .softcap = logit_softcap};
}

BlockOptions TransformerConfig::encoder_block(int64_t index) const {
  return block_options(*this, self_attention.encoder, index);
}

BlockOptions TransformerConfig::decoder_block(int64_t index) const {
  BlockOptions options = block_options(*this, self_attention.decoder, index);
  if (decoder_heads != 0) options.heads = decoder_heads;
  if (decoder_ffn != 0) options.ffn = decoder_ffn;
  options.use = AttentionUse::decoder;
  options.has_cross_attention = has_encoder();
  return options;
}

std::vector<BlockOptions> TransformerConfig::encoder_blocks() const {
  std::vector<BlockOptions> blocks;
  for (int64_t n = 0; n < encoder_layers; ++n) blocks.push_back(encoder_block(n));
  return blocks;
}

std::vector<BlockOptions> TransformerConfig::decoder_blocks() const {
  std::vector<BlockOptions> blocks;
  for (int64_t n = 0; n < decoder_layers; ++n) blocks.push_back(decoder_block(n));
  return blocks;
}

}  // namespace qkv
