// The inputs of what the pages compute.
#pragma once

#include "qkv/base/random.h"
#include "qkv/tensor/tensor.h"

namespace qkv::doc {

// Normally distributed numbers, the same for the same stream.
inline Tensor normal(const Shape& shape, uint64_t stream, double spread = 1.0) {
  Tensor x = Tensor::empty(shape);
  Random random(1, stream);
  for (float& number : x.span<float>()) number = static_cast<float>(spread * random.normal());
  return x;
}

}  // namespace qkv::doc
