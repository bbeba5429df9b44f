// Layer normalization with its parameters: weight (C), initialised to one; bias (C), zero.
//
//     LayerNorm norm(512);
//     Variable y = norm.forward(x);
#pragma once

#include "qkv/layer/module.h"

namespace qkv {

class LayerNorm final : public Module {
 public:
  explicit LayerNorm(const Axis& width, float eps = 1e-5f);
  Variable forward(const Variable& x) const;
  void list(ModuleContents& contents) const override;

  Parameter weight, bias;

 private:
  float eps_;
};

}  // namespace qkv
