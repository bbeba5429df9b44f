// Layer normalization with its parameters: weight (C), initialised to one; bias (C), zero.
//
//     LayerNorm norm(512);
//     Variable y = norm.forward(x);
#pragma once

#include "qkv/layer/parameters.h"

namespace qkv {

class LayerNorm {
 public:
  explicit LayerNorm(int64_t width, float eps = 1e-5f);
  Variable forward(const Variable& x) const;
  void visit(const std::string& prefix, const ParameterVisitor& visitor);

  Variable weight, bias;

 private:
  float eps_;
};

}  // namespace qkv
