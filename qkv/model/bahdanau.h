// The model in which attention began: Bahdanau, Cho, Bengio, "Neural Machine Translation by Jointly Learning to Align
// and Translate", 2015. A Gru reads the source in both directions, and a Gru with additive attention writes the target.
//
//     Bahdanau model(recipe("bahdanau").recurrent(), /*seed=*/1);
//     CrossEntropy e = model.loss(source, lengths, target_in, target_out, {.label_smoothing = 0.1f}, pass);
//
// layer/bahdanau_decoder.h has the formulas. config.d_model is the width of embeddings and states, encoder_layers the
// number of Gru layers of the encoder, decoder_layers 1; config.cross_attention may have another score than additive,
// and local attention.
#pragma once

#include "qkv/layer/bahdanau_decoder.h"
#include "qkv/model/recurrent_encoder_decoder.h"

namespace qkv {

class Bahdanau final : public RecurrentEncoderDecoder<BahdanauDecoder> {
 public:
  static constexpr Architecture architecture = Architecture::bahdanau;

  Bahdanau(const RecurrentConfig& config, uint64_t seed);
  explicit Bahdanau(const RecurrentConfig& config);  // without initial values: to be loaded

 private:
  BahdanauDecoder::State first_state(const Encoded& encoded) const override;
};

}  // namespace qkv
