// A linear layer with its parameters: y = x W^T + b.
//
//     Linear up({512, "C"}, {2048, "F"});
//     Variable y = up.forward(x);        // x (..., 512), y (..., 2048)
//
// Parameters: weight (out, in), initialised by fan_in_uniform(); bias (out), zero.
#pragma once

#include "qkv/layer/module.h"

namespace qkv {

class Linear final : public Module {
 public:
  Linear(const Axis& in, const Axis& out, bool bias = true);
  Variable forward(const Variable& x) const;
  void list(ModuleContents& contents) const override;

  Parameter weight, bias;
};

}  // namespace qkv
