// Help for the tests of this folder.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "qkv/base/random.h"
#include "qkv/layer/parameters.h"

namespace qkv {

inline Tensor random_tensor(const Shape& shape, uint64_t seed, double deviation = 1.0) {
  Random random(seed);
  Tensor x = Tensor::empty(shape);
  for (float& value : x.span<float>()) value = static_cast<float>(deviation * random.normal());
  return x;
}

// Every parameter, biases and norms too, becomes a random number.
template <class Layer>
void randomise(Layer& layer, uint64_t seed) {
  layer.visit("", [&](const std::string&, Variable& p) {
    p.mutable_value().copy_from(random_tensor(p.shape(), ++seed * 1000, 0.3));
  });
}

template <class Layer>
std::vector<std::string> names_of(Layer& layer, const std::string& prefix) {
  std::vector<std::string> names;
  layer.visit(prefix, [&](const std::string& name, Variable&) { names.push_back(name); });
  return names;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous_copy(), y = b.contiguous_copy();
  return x.shape() == y.shape() &&
         std::memcmp(x.span<float>().data(), y.span<float>().data(), x.span<float>().size_bytes()) == 0;
}

inline double largest_difference(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous_copy(), y = b.contiguous_copy();
  if (!(x.shape() == y.shape())) return 1e300;
  double largest = 0;
  for (size_t i = 0; i < x.span<float>().size(); ++i) {
    const double d = std::abs(static_cast<double>(x.span<float>()[i]) - y.span<float>()[i]);
    if (!(d <= largest)) largest = d;  // not-a-number, too
  }
  return largest;
}

}  // namespace qkv
