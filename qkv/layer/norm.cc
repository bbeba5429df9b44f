#include "qkv/layer/norm.h"

#include "qkv/op/norm.h"

namespace qkv {

LayerNorm::LayerNorm(const Axis& width, float eps) : weight({width}, {}, 1.0f), bias({width}), eps_(eps) {}

Variable LayerNorm::forward(const Variable& x) const { return layer_norm(x, weight, bias, eps_); }

void LayerNorm::list(ModuleContents& contents) const {
  contents.parameter("weight", weight);
  contents.parameter("bias", bias);
}

}  // namespace qkv
