// Decoders whose first input is a vector of zeros: it becomes a token, a row of zeros after the vocabulary. It is never
// generated, because its logit is -1000. (With label smoothing, a lower one would outweigh the loss of the others.)
//
//     table = with_row(table, 0);
//     bias = with_row(bias, no_logit);
#pragma once

#include <algorithm>

#include "qkv/tensor/tensor.h"

namespace qkv {

constexpr float no_logit = -1e3f;

// One row more, of this value.
inline Tensor with_row(const Tensor& table, float value) {
  Shape shape = table.shape();
  ++shape[0];
  Tensor out = Tensor::empty(shape);
  std::copy_n(table.data<float>(), table.numel(), out.data<float>());
  std::fill_n(out.data<float>() + table.numel(), out.numel() - table.numel(), value);
  return out;
}

}  // namespace qkv
