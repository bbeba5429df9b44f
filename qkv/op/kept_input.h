// What a linear layer y = x W^T keeps of x (..., K) for dW = dy^T x. Where that product rounds x to bf16 (Weight::train_in()),
// x is rounded already when it is kept: half of the memory, and the same bits of dW.
//
//     const KeptInput kept(x, x.value(), layers);                    // f32 or bf16, or how to compute it again
//     weight_gradient(w, {dy, M, N}, kept.value(), dw.data<float>());
//
// What the op of x can compute again (Variable::recomputation()), such as normalised rows, is not kept at all.
// x stays as it is where it is bf16 already, such as the context of attention in bf16, or where another tensor shares its memory.
// A relu keeps which numbers of its result are positive, a bit each, where the next layer keeps the result in bf16.
#pragma once

#include <memory>
#include <span>

#include "qkv/op/linear.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

// What an op that needs the value of x itself keeps of it: how to compute it again, or `in`, its value.
Recomputation kept_value(const Variable& x, const Tensor& in);

// x is contiguous, and held by its variable and by the caller.
Tensor kept_input(const Tensor& x, std::span<const WeightAndBias> layers);

// Copies share what is computed again.
class KeptInput {
 public:
  KeptInput() = default;
  // `in` is the value of x, contiguous.
  KeptInput(const Variable& x, const Tensor& in, std::span<const WeightAndBias> layers);
  const Tensor& value() const;

 private:
  struct State {
    Tensor value;
    Recomputation recomputation;
  };
  std::shared_ptr<State> state_;
};

void weight_gradient(const Weight& w, kernel::Matrix dy, const Tensor& kept, float* dw);

class PositiveNumbers {
 public:
  PositiveNumbers() = default;  // of nothing
  explicit PositiveNumbers(const Tensor& y);
  bool defined() const { return bits_.defined(); }
  Tensor relu_gradient(const Tensor& grad) const;  // grad where y is positive, else zero

 private:
  Tensor bits_;  // the bytes of words of 16 numbers each
};

}  // namespace qkv
