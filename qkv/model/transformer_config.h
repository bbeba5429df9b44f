// What a Transformer is built from: an encoder-decoder, a causal or a masked model. Its fields are rows of
// architecture_table.h.
//
//     TransformerConfig config{.architecture = Architecture::causal, .d_model = 768, .heads = 12};
//     config.source_vocabulary = config.target_vocabulary = 8000;
//     config.self_attention = {SlidingWindow{64}, {{Full{}, 1}, {SlidingWindow{64}, 3}}};    // encoder, decoder
//
// Letters: C d_model, H heads, F ffn, V vocabularies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "qkv/base/names.h"
#include "qkv/layer/attention_pattern.h"
#include "qkv/layer/block.h"
#include "qkv/layer/output_projection.h"
#include "qkv/layer/token_embedding.h"
#include "qkv/model/architecture.h"

namespace qkv {

// Position encoding: sinusoidal and learned vectors are added to the embeddings; rotary, alibi and relative_bias
// are mechanisms of every self-attention.
enum class Positions { sinusoidal, learned, rotary, alibi, relative_bias, none };
constexpr auto names_of(Positions) {
  return std::array{Named{Positions::sinusoidal, "sinusoidal"},
                    Named{Positions::learned, "learned"},
                    Named{Positions::rotary, "rotary"},
                    Named{Positions::alibi, "alibi"},
                    Named{Positions::relative_bias, "relative-bias"},
                    Named{Positions::none, "none"}};
}

// The variants of the layers of the two self-attentions. A single pattern, variant or mechanism is for both.
struct SelfAttention {
  AttentionPattern encoder, decoder;

  SelfAttention() = default;
  template <std::convertible_to<AttentionPattern> T>
  SelfAttention(const T& both) : encoder(both), decoder(both) {}  // NOLINT: implicit on purpose
  SelfAttention(AttentionPattern e, AttentionPattern d) : encoder(std::move(e)), decoder(std::move(d)) {}
};
// "window=64", or "full in the encoder, window=64 in the decoder"
std::string to_string(const SelfAttention& self_attention);

struct TransformerConfig {
  Architecture architecture = Architecture::encoder_decoder;  // none of the recurrent ones
  int64_t source_vocabulary = 0, target_vocabulary = 0;       // equal in a model of one stack
  int64_t d_model = 512;
  int64_t heads = 8;
  int64_t kv_heads = 0;    // 0: as many as heads
  int64_t head_width = 0;  // 0: d_model / heads
  int64_t ffn = 2048;
  int64_t encoder_layers = 6, decoder_layers = 6;  // ignored for a stack that the model lacks
  float dropout = 0.1f;                            // of embeddings + positions and of sublayers
  float attention_dropout = 0.0f;                  // of attention weights
  float ffn_dropout = 0.0f;                        // inside the feed-forward network
  NormOrder norm_order = NormOrder::pre;
  NormKind norm_kind = NormKind::layer;
  float norm_eps = 1e-5f;
  Activation activation = Activation::relu;
  bool gated_ffn = false;
  Positions positions = Positions::sinusoidal;
  Tie tie = Tie::all;
  bool attention_bias = true;
  bool ffn_bias = true;
  bool query_key_norm = false;
  SelfAttention self_attention = {};
  AttentionPattern cross_attention = {};
  int64_t max_positions = 1024;  // of sinusoidal and learned positions

  // Settings that only published families use (published/family/). Written to config.json when not the default.
  std::optional<bool> attention_output_bias = {};  // none: as attention_bias
  int64_t decoder_heads = 0, decoder_ffn = 0;      // 0: as heads and ffn; else those are the encoder's
  float norm_weight_offset = 0.0f;                 // rows are multiplied by offset + weight; 1 in Gemma
  int64_t embedding_width = 0;                     // of a causal model; 0: d_model
  float embedding_scale = 0.0f;                    // 0: sqrt(C)
  bool embedding_norm = false;                     // a norm of the sum of the embeddings
  int64_t token_types = 0;                         // 0: no table of them
  int64_t position_offset = 0;                     // the row of position 0: 2 in OPT and BART
  SinusoidLayout sinusoids = SinusoidLayout::interleaved;
  bool head = true;                                // false: it gives hidden states, and no logits
  std::optional<Activation> head_activation = {};  // of a masked model; none: as activation
  bool output_bias = false;                        // a masked model has one anyway
  float output_scale = 1.0f;                       // of the hidden states before the output projection
  float logit_softcap = 0.0f;                      // 0: none
  int64_t context_length = 0;  // the longest text that it was made for, if positions have no limit; 0: unknown

  // The longest sequence on either side, in tokens: max_positions where the position encoding has a limit, else
  // unlimited_positions.
  bool has_position_limit() const;
  int64_t position_limit() const;
  // The number of tokens of a text that are read by default: the limit, else context_length, else default_context_length.
  int64_t default_context() const;
  // Whether padding after a row changes its result (AttentionMechanism::depends_on_length()): rows of a batch must have
  // one length.
  bool depends_on_length() const;
  // The position encodings that are mechanisms are part of self_attention.
  bool has_encoder() const { return architecture != Architecture::causal; }
  bool has_decoder() const { return architecture != Architecture::masked; }
  BlockOptions encoder_block(int64_t index = 0) const;
  BlockOptions decoder_block(int64_t index = 0) const;
  NormOptions norm_options() const;
  std::optional<NormOptions> final_norm() const;  // of a stack; none in post-LN
  TokenEmbeddingOptions embedding_options() const;
  OutputProjectionOptions output_options() const;
  std::vector<BlockOptions> encoder_blocks() const;
  std::vector<BlockOptions> decoder_blocks() const;
  void check() const;  // UsageError for settings that are out of range or do not fit together
};

}  // namespace qkv
