// What is done to the weights after the softmax: a factor for every pair, which does not depend on the weight
// itself.
//
//     w_ij = f_ij * softmax_j(s_ij)
//
// That a reweigher only multiplies is what keeps the backward short: sum_j (dL/dp_ij) p_ij is still out_i . dout_i.
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
  // x (keys x width) times the factors of the tile: used on weights in the forward and on their gradients in the
  // backward.
  virtual void multiply(const Tile& tile, float* x) const = 0;
  // What the factors of the tile give back, added to the gradients of parameters(). `weights` are those that
  // multiply V, all factors in them, and `grad` is their gradient: dL/d log f_ij = weights_ij grad_ij.
  virtual void backward(const Tile& /*tile*/, const float* /*weights*/, const float* /*grad*/,
                        float* /*parameters*/) const {}
  virtual std::vector<Variable> parameters() const { return {}; }
  virtual std::string name() const = 0;
};

using ReweigherPtr = std::shared_ptr<const Reweigher>;

}  // namespace qkv
