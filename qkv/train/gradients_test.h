// For tests: parameters with gradients.
#pragma once

#include <vector>

#include "qkv/base/random.h"
#include "qkv/op/arithmetic.h"

namespace qkv {

inline Variable parameter(std::vector<float> values, const Shape& shape) {
  return Variable(Tensor::from(values, shape), {.requires_grad = true});
}

// Gives `p` the gradient g by way of the tape: d/dp sum(p g) = g.
inline void give_gradient(Variable& p, const std::vector<float>& g) {
  sum(multiply(p, Variable(Tensor::from(g, p.shape())))).backward();
}

inline std::vector<float> random_values(size_t n, uint64_t stream) {
  Random random(7, stream);
  std::vector<float> out(n);
  for (float& x : out) x = static_cast<float>(random.normal());
  return out;
}

}  // namespace qkv
