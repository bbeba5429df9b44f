// Reweighting: a factor for every pair after the softmax, which does not depend on the weight.
//
//     w_ij = f_ij * softmax_j(s_ij)
//
// Because it only multiplies, sum_j (dL/dp_ij) p_ij is still out_i . dout_i, which the backward relies on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "qkv/attention/tile.h"
#include "qkv/autograd/variable.h"

namespace qkv {

class Reweigher {
 public:
  virtual ~Reweigher() = default;
  virtual void check(const AttentionShape&) const {}
  // x (keys x width) times the factors of the tile: the weights in the forward, their gradients in the backward.
  virtual void multiply(const Tile& tile, float* x) const = 0;
  // Adds the gradients of parameters(). `weights` are those that multiply V, with the factors of all reweighers,
  // and `grad` is their gradient: dL/d log f_ij = weights_ij grad_ij.
  virtual void backward(const Tile& /*tile*/, const float* /*weights*/, const float* /*grad*/,
                        float* /*parameters*/) const {}
  virtual std::vector<Variable> parameters() const { return {}; }
  virtual std::string name() const = 0;
};

using ReweigherPtr = std::shared_ptr<const Reweigher>;

}  // namespace qkv
