// What a Transformer is made of, as numbers; written to and read from config.json.
//
//     TransformerConfig config = recipe("transformer-base");
//     config.source_vocabulary = config.target_vocabulary = 8000;
//     std::string text = to_json(config);
//
// Letters: C d_model, H heads, F ffn, V vocabularies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/base/names.h"
#include "qkv/layer/encoder_layer.h"

namespace qkv {

// Which of the three places that hold one row a token share one matrix (Press and Wolf, 2017; Vaswani et al., 3.4).
enum class Tie {
  all,     // source embedding = target embedding = output projection: one vocabulary for both languages
  target,  // target embedding = output projection
  none,
};
constexpr auto names_of(Tie) {
  return std::array{Named{Tie::all, "all"}, Named{Tie::target, "target"}, Named{Tie::none, "none"}};
}

// Vectors added to the embeddings, or a word (layer/mechanism) of every self-attention, or nothing at all.
enum class Positions { sinusoidal, learned, rotary, alibi, t5, none };
constexpr auto names_of(Positions) {
  return std::array{Named{Positions::sinusoidal, "sinusoidal"},
                    Named{Positions::learned, "learned"},
                    Named{Positions::rotary, "rotary"},
                    Named{Positions::alibi, "alibi"},
                    Named{Positions::t5, "t5"},
                    Named{Positions::none, "none"}};
}

struct TransformerConfig {
  int64_t source_vocabulary = 0, target_vocabulary = 0;
  int64_t d_model = 512;
  int64_t heads = 8;
  int64_t kv_heads = 0;  // 0: as many as heads
  int64_t ffn = 2048;
  int64_t encoder_layers = 6, decoder_layers = 6;
  float dropout = 0.1f;            // of embeddings + positions and of sublayers
  float attention_dropout = 0.0f;  // of attention weights
  float ffn_dropout = 0.0f;        // inside the feed-forward network
  NormOrder norm_order = NormOrder::post;
  Activation activation = Activation::relu;
  Positions positions = Positions::sinusoidal;
  Tie tie = Tie::all;
  bool attention_bias = true;
  AttentionVariant self_attention = {};   // of the encoder and of the decoder
  AttentionVariant cross_attention = {};  // of the decoder to the source
  int64_t max_length = 1024;              // positions, of either side

  LayerOptions layer() const;  // positions that are a word stand in its self-attention
  void check() const;          // throws when the numbers do not fit together
};

// transformer-tiny, -small, -base, -big. An unknown name is a UsageError that lists them.
TransformerConfig recipe(std::string_view name);
std::vector<std::string_view> recipe_names();

std::string to_json(const TransformerConfig& config);
// `where` names the file in errors. Unknown keys, wrong types and impossible numbers are InputErrors.
TransformerConfig config_from_json(std::string_view text, std::string_view where);

}  // namespace qkv
