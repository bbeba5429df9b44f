// The parameters of a layer, by name. Every layer has
//
//     void visit(const std::string& prefix, const ParameterVisitor& visitor);
//
// which calls visitor("encoder.layers.0.self_attention.query.weight", parameter) for each, in a fixed order.
#pragma once

#include <functional>
#include <string>

#include "qkv/autograd/variable.h"

namespace qkv {

using ParameterVisitor = std::function<void(const std::string& name, Variable& parameter)>;

inline std::string join_name(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

// A parameter of the given shape, every element `value`.
inline Variable new_parameter(const Shape& shape, float value = 0.0f) {
  return Variable(Tensor::full(shape, value), {.requires_grad = true});
}

// Xavier (Glorot and Bengio, 2010): uniform in +- sqrt(6 / (rows + columns)); a function of (seed, name).
void xavier_uniform(Variable& parameter, uint64_t seed, const std::string& name);
// Normal with the given standard deviation; a function of (seed, name).
void normal(Variable& parameter, double deviation, uint64_t seed, const std::string& name);

}  // namespace qkv
