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

// A matrix (out, in), uniform in +- 1 / sqrt(in) (LeCun et al., "Efficient BackProp", 1998); a function of (seed, name).
// Residual branches begin small that way: a Transformer learns faster than from Xavier's bounds, and post-LN learns at
// all at large rates (doc/first_training.md).
void fan_in_uniform(Variable& parameter, uint64_t seed, const std::string& name);
// Normal with the given standard deviation; a function of (seed, name).
void normal(Variable& parameter, double deviation, uint64_t seed, const std::string& name);

}  // namespace qkv
