// Linear layer on the last axis: y = x W^T + b.
//
//     Variable y = linear(x, w, b);       // x (..., K), w (N, K), b (N), optional; y (..., N)
//     const auto [q, k, v] = linear<3>(x, {{{wq, bq}, {wk, bk}, {wv, bv}}});  // several of one x, the same bits
//
// Layers of one x are one parallel region, and what they need of x is made once (kernel/matmul.h). The result of a layer
// without a weight is undefined.
//
// A weight that is used again and again is kept as a Weight, which caches its packed form; one that is given as a
// Variable is packed in every call. Errors: a K that differs or is 0, a bias that is not (N).
#pragma once

#include <array>
#include <span>

#include "qkv/op/weight.h"

namespace qkv {

Variable linear(const Variable& x, const Weight& w, const Variable& b = {});

// The rows of y in blocks of columns, none of which is kept (kernel/matmul.h); for inference. x (R,K) is contiguous f32.
void linear_in_blocks(const Tensor& x, const Weight& w, const Variable& b, int parts,
                      FunctionRef<void(const kernel::ProductBlock&)> take);

// What a call reads: not a copy, so it must not outlive them.
class WeightAndBias {
 public:
  WeightAndBias() = default;                                                      // no layer
  WeightAndBias(const Weight& w, const Variable& b = no_bias, bool relu = false)  // NOLINT: implicit on purpose
      : weight_(&w), bias_(&b), relu_(relu) {}

  const Weight& weight() const { return *weight_; }
  const Variable& bias() const { return *bias_; }
  bool relu() const { return relu_; }  // y = max(0, x W^T + b)

 private:
  static inline const Weight no_weight = {};
  static inline const Variable no_bias = {};

  const Weight* weight_ = &no_weight;
  const Variable* bias_ = &no_bias;
  bool relu_ = false;
};
void linear(const Variable& x, std::span<const WeightAndBias> layers, std::span<Variable> results);
template <size_t N>
std::array<Variable, N> linear(const Variable& x, const std::array<WeightAndBias, N>& layers) {
  std::array<Variable, N> results;
  linear(x, layers, results);
  return results;
}

}  // namespace qkv
