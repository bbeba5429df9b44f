#include "qkv/layer/norm.h"

#include "qkv/op/norm.h"

namespace qkv {

LayerNorm::LayerNorm(int64_t width, float eps)
    : weight(new_parameter({width}, 1.0f)), bias(new_parameter({width})), eps_(eps) {}

Variable LayerNorm::forward(const Variable& x) const { return layer_norm(x, weight, bias, eps_); }

void LayerNorm::visit(const std::string& prefix, const ParameterVisitor& visitor) {
  visitor(join_name(prefix, "weight"), weight);
  visitor(join_name(prefix, "bias"), bias);
}

}  // namespace qkv
