// A linear layer with its parameters: y = x W^T + b.
//
//     Linear up(512, 2048);
//     Variable y = up.forward(x);        // x (..., 512), y (..., 2048)
//
// Parameters: weight (out, in), initialised by fan_in_uniform(); bias (out), zero.
#pragma once

#include "qkv/layer/parameters.h"

namespace qkv {

class Linear {
 public:
  Linear(int64_t in, int64_t out, bool bias = true);
  Variable forward(const Variable& x) const;
  void visit(const std::string& prefix, const ParameterVisitor& visitor);
  void initialise(const std::string& prefix, uint64_t seed);

  Variable weight, bias;
};

}  // namespace qkv
