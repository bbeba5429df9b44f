#include "qkv/layer/norm.h"

#include "qkv/op/arithmetic.h"
#include "qkv/op/norm.h"

namespace qkv {

Norm::Norm(const Axis& width, const NormOptions& options)
    : weight({width}, {}, 1.0f - options.weight_offset), options_(options) {
  if (options.kind == NormKind::layer && options.bias) bias = Parameter({width});
}

Variable Norm::forward(const Variable& x) const {
  const auto by = [&](const Variable& factor) {
    return options_.kind == NormKind::rms ? rms_norm(x, factor, options_.eps)
                                          : layer_norm(x, factor, bias, options_.eps);
  };
  return options_.weight_offset == 0 ? by(weight) : by(add(weight, options_.weight_offset));
}

void Norm::list(ModuleContents& contents) const {
  contents.parameter("weight", weight);
  contents.parameter("bias", bias);
}

}  // namespace qkv
