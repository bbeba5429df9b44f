// What the recurrent encoder-decoders of Bahdanau and Luong are built from. Its fields are the rows of
// architecture_table.h that are not for Transformers alone.
//
//     const RecurrentConfig c{.architecture = Architecture::bahdanau};
//     c.attention()        // additive, the score of the paper
//     c.encoder_width()    // 512: states of both directions
//
// Letters: C d_model.
#pragma once

#include <cstdint>

#include "qkv/layer/attention_pattern.h"
#include "qkv/layer/recurrent.h"
#include "qkv/model/architecture.h"

namespace qkv {

struct RecurrentConfig {
  Architecture architecture = Architecture::bahdanau;  // or luong
  int64_t source_vocabulary = 0, target_vocabulary = 0;
  int64_t d_model = 256;  // width of embeddings and of the states of a direction
  int64_t encoder_layers = 1, decoder_layers = 1;
  float dropout = 0.1f;
  Tie tie = Tie::all;
  AttentionPattern cross_attention = {};  // one variant

  // cross_attention, or the paper's score where it has none.
  AttentionVariant attention() const;
  // Of the states of the encoder, which reads in both directions in Bahdanau's model.
  int64_t encoder_width() const { return architecture == Architecture::bahdanau ? 2 * d_model : d_model; }
  RecurrentOptions encoder() const;
  void check() const;  // UsageError for settings that are out of range or do not fit together
};

// The same, after all checks. UsageError for another architecture.
const RecurrentConfig& checked_recurrent(const RecurrentConfig& config, Architecture architecture);

}  // namespace qkv
