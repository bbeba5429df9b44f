// A linear layer with its parameters: y = x W^T + b.
//
//     Linear up({512, "C"}, {2048, "F"});
//     Variable y = up.forward(x);        // x (..., 512), y (..., 2048)
//     const auto [g, u] = forward_all<2>(x, {&gate, &up});      // the same bits in less time (op/linear.h)
//
// Parameters: weight (out, in), initialised by fan_in_uniform(); bias (out), zero.
#pragma once

#include <array>

#include "qkv/layer/module.h"
#include "qkv/op/linear.h"

namespace qkv {

class Linear final : public Module {
 public:
  Linear(const Axis& in, const Axis& out, bool bias = true);
  Variable forward(const Variable& x) const;
  Variable forward_relu(const Variable& x) const;  // max(0, forward(x)), in one step where no gradient is recorded
  void list(ModuleContents& contents) const override;

  Parameter weight, bias;
};

// The results of several layers of one x; that of a null is undefined.
template <size_t N>
std::array<Variable, N> forward_all(const Variable& x, const std::array<const Linear*, N>& layers) {
  std::array<WeightAndBias, N> parts;
  for (size_t i = 0; i < N; ++i)
    if (layers[i]) parts[i] = WeightAndBias(layers[i]->weight, layers[i]->bias);
  return linear(x, parts);
}

}  // namespace qkv
