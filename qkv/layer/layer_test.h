// Parameters of layers, for the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include "qkv/layer/module.h"
#include "qkv/test_support/tensors.h"

namespace qkv::test {

// Every parameter, biases and norms too, becomes a random number.
template <class Layer>
void randomise(Layer& layer, uint64_t stream) {
  layer.visit("", [&](const std::string&, Variable& p) {
    p.mutable_value().copy_from(random_tensor(p.shape(), ++stream * 1000, 0.3));
  });
}

template <class Layer>
std::vector<std::string> names_of(Layer& layer, const std::string& prefix) {
  std::vector<std::string> names;
  layer.visit(prefix, [&](const std::string& name, Variable&) { names.push_back(name); });
  return names;
}

}  // namespace qkv::test
