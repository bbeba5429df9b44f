// What scores that are dot products of prepared queries and keys have in common: their tiles are matrix products,
// in bf16 too, and single queries have a pass of their own. Such a score says its factor, and what it prepares.
//
//     class Dot final : public DotProductScore { std::optional<float> dot_scale(int64_t) const override { ... } };
#pragma once

#include "qkv/attention/score/score.h"

namespace qkv {

class DotProductScore : public Score {
 public:
  std::optional<float> dot_scale(int64_t D) const override = 0;
  void forward(const Tile& tile, const ScoreOperands& operands, float* s) const final;
  void backward(const Tile& tile, const ScoreOperands& operands, const WeightOperand& ds,
                const ScoreGradients& gradients) const final;
};

}  // namespace qkv
