// Scores to weights: w_ij = f(s_ij) / (sum over the visible j of f(s_ij), and perhaps more). A normalizer works on
// one tile at a time, and keeps what it knows of a query in two numbers, a maximum and a sum.
//
//     Tensor y = attention(q, k, v, {.normalize = softmax_with_sink(sink)});
//
// Null stands for softmax().
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

  // s (keys x width) becomes weights that lack their division by the sum. Hidden scores are minus infinity.
  virtual void step(const Tile& tile, float* s, kernel::RunningSoftmax running) const = 0;
  // The same for a single query: a row of n scores.
  virtual void step_row(float* s, int64_t n, kernel::RunningSoftmax running) const = 0;
  // After the last tile of a block: what the normalizer adds of its own. Leaves the factor for the sums of values
  // in running.rescale. A query that saw no key has the sum 0, and keeps it.
  virtual void finish(const QueryBlock& block, kernel::RunningSoftmax running) const = 0;

  // From what finish() left: s becomes weights. In the backward `slope`, unless it is null, receives what
  // backward() wants to know.
  virtual void weights(const Tile& tile, float* s, const float* maximum, const float* inverse_sum,
                       float* slope) const = 0;
  // grad, of the weights, becomes that of the scores; delta_i = sum_j w_ij grad_ij.
  virtual void backward(const Tile& tile, const float* weights, const float* slope, const float* delta,
                        float* grad) const = 0;
  virtual bool needs_slope() const { return false; }

  // step(), weights() and backward() where only products of bf16 read the results: rounded for them, in the forms
  // of kernel::Bf16Kernels. Scores still lack the factor `scale`. A normalizer that has a faster way than one after
  // the other says so here.
  virtual void step_to_pairs(const Tile& tile, float* s, float scale, kernel::RunningSoftmax running,
                             float* columns) const;
  virtual void weights_to_pairs(const Tile& tile, float* s, float scale, const float* maximum,
                                const float* inverse_sum, float* slope, uint16_t* rows) const;
  virtual void backward_to_pairs(const Tile& tile, const float* weights, const float* slope, const float* delta,
                                 float* grad, uint16_t* rows, float* columns) const;

  virtual std::vector<Variable> parameters() const { return {}; }
  // Once a block: gradients of the parameters that do not come through the scores, added.
  virtual void backward_block(const QueryBlock& /*block*/, const float* /*maximum*/, const float* /*inverse_sum*/,
                              const float* /*delta*/, float* /*parameters*/) const {}
  virtual std::string name() const = 0;
};

using NormalizerPtr = std::shared_ptr<const Normalizer>;

}  // namespace qkv
