#include "qkv/layer/linear.h"

#include "qkv/layer/initialise.h"

namespace qkv {

Linear::Linear(const Axis& in, const Axis& out, bool with_bias)
    : weight(Parameter::matrix(out, in, fan_in_uniform)) {
  if (with_bias) bias = Parameter({out});
}

Variable Linear::forward(const Variable& x) const { return linear(x, weight, bias); }

Variable Linear::forward_relu(const Variable& x) const {
  return linear<1>(x, {{{weight, bias, /*relu=*/true}}})[0];
}

void Linear::list(ModuleContents& contents) const {
  contents.parameter("weight", weight);
  contents.parameter("bias", bias);
}

}  // namespace qkv
