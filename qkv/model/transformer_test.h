// What the tests of whole models share.
#pragma once

#include <cstring>

#include "qkv/base/random.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

// Token ids of a vocabulary of 11.
inline Tensor random_ids(int64_t B, int64_t T, uint64_t seed) {
  Random random(seed);
  Tensor ids = Tensor::empty({B, T}, DType::i32);
  for (int32_t& id : ids.span<int32_t>()) id = static_cast<int32_t>(random.below(11));
  return ids;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous_copy(), y = b.contiguous_copy();
  return x.shape() == y.shape() &&
         std::memcmp(x.span<float>().data(), y.span<float>().data(), x.span<float>().size_bytes()) == 0;
}

}  // namespace qkv
