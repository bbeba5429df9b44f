// Norms of every parameter at one update: which layers learn, how fast, and where gradients vanish or explode.
//
//     ParameterNorms norms(named_parameters);
//     norms.before_update(scale);                // after backward(); scale: what the optimizer multiplies by
//     adam.step(rate, scale);
//     norms.after_update();
//     for (const auto& [name, n] : norms.all()) fmt::print("{} {:.1e}\n", name, n.update / n.value);
//
// Root mean squares of the elements, so that tensors of different sizes can be compared: an update of about a
// thousandth of the value is common for matrices. Computed in double precision.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "qkv/autograd/variable.h"

namespace qkv {

class ParameterNorms {
 public:
  struct Norms {
    double gradient = 0, value = 0, update = 0;  // value: before the update
  };

  explicit ParameterNorms(std::vector<std::pair<std::string, Variable>> parameters);

  void before_update(double gradient_scale);
  void after_update();
  const std::vector<std::pair<std::string, Norms>>& all() const { return norms_; }

 private:
  std::vector<std::pair<std::string, Variable>> parameters_;
  std::vector<Tensor> before_;
  std::vector<std::pair<std::string, Norms>> norms_;
};

}  // namespace qkv
