// Base of the scores that are a multiple of the dot product of prepared queries and keys: their tiles are matrix
// products, also in bf16. A derived class defines the factor, and what it prepares.
//
//     class Dot final : public DotProductScore { std::optional<float> dot_scale(int64_t) const override { ... } };
#pragma once

#include "qkv/attention/score/score.h"

namespace qkv::internal {

class DotProductScore : public Score {
 public:
  std::optional<float> dot_scale(int64_t D) const override = 0;
  void forward(const Tile& tile, const ScoreOperands& operands, float* s) const final;
  void backward(const Tile& tile, const ScoreOperands& operands, const WeightOperand& ds,
                const ScoreGradients& gradients) const final;
};

}  // namespace qkv::internal
