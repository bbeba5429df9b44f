// The architectures, and which embeddings a model shares.
//
//     is_recurrent(Architecture::luong)        // true: it has a RecurrentConfig, no TransformerConfig
//     is_language_model(Architecture::causal)  // true: trained on text
//     ties_output(Tie::target)                 // true
#pragma once

#include <array>
#include <cstdint>

#include "qkv/base/names.h"

namespace qkv {

// Which of the three (vocabulary, C) matrices are shared (Press and Wolf, 2017; Vaswani et al., 2017, section
// 3.4).
enum class Tie {
  all,         // source embedding = target embedding = output projection: one vocabulary for both languages
  embeddings,  // source embedding = target embedding
  target,      // target embedding = output projection
  none,
};
constexpr auto names_of(Tie) {
  return std::array{Named{Tie::all, "all"}, Named{Tie::embeddings, "embeddings"}, Named{Tie::target, "target"},
                    Named{Tie::none, "none"}};
}
// In a model of one stack, target is the same as all, and embeddings the same as none.
constexpr bool ties_embeddings(Tie tie) { return tie == Tie::all || tie == Tie::embeddings; }
constexpr bool ties_output(Tie tie) { return tie == Tie::all || tie == Tie::target; }

// What a model computes. A causal and a masked model are one stack: the decoder without cross-attention, the encoder;
// bahdanau and luong are recurrent.
enum class Architecture { encoder_decoder, causal, masked, bahdanau, luong };
constexpr auto names_of(Architecture) {
  return std::array{Named{Architecture::encoder_decoder, "transformer"}, Named{Architecture::causal, "causal"},
                    Named{Architecture::masked, "masked"}, Named{Architecture::bahdanau, "bahdanau"},
                    Named{Architecture::luong, "luong"}};
}
// Trained on plain text, the others on sentence pairs.
constexpr bool is_language_model(Architecture architecture) {
  return architecture == Architecture::causal || architecture == Architecture::masked;
}
constexpr bool is_recurrent(Architecture architecture) {
  return architecture == Architecture::bahdanau || architecture == Architecture::luong;
}

// Of a model that reads texts of any length: the longest that is read, in tokens, and how much is read by default.
inline constexpr int64_t unlimited_positions = int64_t{1} << 24, default_context_length = 4096;

}  // namespace qkv
