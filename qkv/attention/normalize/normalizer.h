// Normalization: scores to weights, w_ij = f(s_ij) / (sum over the visible j of f(s_ij), and perhaps more). Online:
// a normalizer processes one tile at a time, and keeps two numbers per query, a running maximum and a running sum.
//
//     Tensor y = attention(q, k, v, {.normalize = softmax_with_sink(sink)});
//
// The default, null, is softmax().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "qkv/attention/tile.h"
#include "qkv/autograd/variable.h"
#include "qkv/kernel/attention_kernels.h"

namespace qkv {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void check(const AttentionShape&) const {}

  // Changes s (keys x width) from scores to weights that are not yet divided by their sum. Masked scores are
  // masked_score.
  virtual void step(const Tile& tile, float* s, kernel::RunningSoftmax running) const = 0;
  // The same for the single-query algorithm: a row of n scores.
  virtual void step_row(float* s, int64_t n, kernel::RunningSoftmax running) const = 0;
  // After the last tile of a block: adds the normalizer's own terms, and writes the factor of the output, 1 / sum,
  // to running.rescale. A query without visible keys has the sum 0, and keeps it.
  virtual void finish(const QueryBlock& block, kernel::RunningSoftmax running) const = 0;

  // Changes s from scores to weights, by the statistics from finish(). `slope`, not null if needs_slope() in a
  // backward, receives what backward() needs.
  virtual void weights(const Tile& tile, float* s, const float* maximum, const float* inverse_sum,
                       float* slope) const = 0;
  // Changes grad from the gradient of the weights to that of the scores; delta_i = sum_j w_ij grad_ij.
  virtual void backward(const Tile& tile, const float* weights, const float* slope, const float* delta,
                        float* grad) const = 0;
  virtual bool needs_slope() const { return false; }

  // step(), weights() and backward() with results rounded and packed for bf16 products
  // (kernel/attention_kernels.h); scores still lack the factor `scale`. The defaults call the functions above, then
  // pack; override them with a kernel that does both.
  virtual void step_to_bf16(const Tile& tile, float* s, float scale, kernel::RunningSoftmax running,
                            float* columns) const;
  virtual void weights_to_bf16(const Tile& tile, float* s, float scale, const float* maximum,
                               const float* inverse_sum, float* slope, uint16_t* rows) const;
  virtual void backward_to_bf16(const Tile& tile, const float* weights, const float* slope, const float* delta,
                                float* grad, uint16_t* rows, float* columns) const;

  virtual std::vector<Variable> parameters() const { return {}; }
  // Adds the gradients of the parameters that do not depend on the scores of a tile, once per block.
  virtual void backward_block(const QueryBlock& /*block*/, const float* /*maximum*/, const float* /*inverse_sum*/,
                              const float* /*delta*/, float* /*parameters*/) const {}
  virtual std::string name() const = 0;
};

using NormalizerPtr = std::shared_ptr<const Normalizer>;

}  // namespace qkv
