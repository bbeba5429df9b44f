// Luong, Pham, Manning, "Effective Approaches to Attention-based Neural Machine Translation", 2015: layers of Lstm read
// the source, and as many, which begin with their states, write the target, with attention of the top state and input
// feeding.
//
//     Luong model(recipe("luong").recurrent(), /*seed=*/1);
//     CrossEntropy e = model.loss(source, lengths, target_in, target_out, {.label_smoothing = 0.1f}, pass);
//
// layer/luong_decoder.h has the formulas. config.d_model is the width of embeddings and states; encoder_layers and
// decoder_layers are equal. config.cross_attention is the score, dot unless another variant is given: bilinear
// ("general"), additive ("concat"), location; with local-m or local-p the paper's local attention.
#pragma once

#include "qkv/layer/luong_decoder.h"
#include "qkv/model/recurrent_encoder_decoder.h"

namespace qkv {

class Luong final : public RecurrentEncoderDecoder<LuongDecoder> {
 public:
  static constexpr Architecture architecture = Architecture::luong;

  Luong(const RecurrentConfig& config, uint64_t seed);
  explicit Luong(const RecurrentConfig& config);  // without initial values: to be loaded

 private:
  LuongDecoder::State first_state(const Encoded& encoded) const override;
};

}  // namespace qkv
