// Applies an op to the last axis of queries or keys, in Score::prepare().
//
//     Variable projected = map_rows(q, [&](const Variable& x) { return linear(x, w); });      // q (B,H,T,D)
//
// In memory order: a (B,H,T,D) view of (B,T,H,D) memory is not copied, and the result has its order. The op is
// computed in f32; for bf16 the result is rounded once.
#pragma once

#include "qkv/op/convert.h"
#include "qkv/op/shape.h"

namespace qkv::internal {

template <class Op>
Variable map_rows(const Variable& x, Op op) {
  const Tensor& value = x.value();
  const bool heads_inside = value.dim(1) > 1 && value.dim(2) > 1 && value.stride(1) < value.stride(2);
  const Variable y = op(convert(heads_inside ? transpose(x, 1, 2) : x, DType::f32));
  const Variable rounded = convert(y, value.dtype());
  return heads_inside ? transpose(rounded, 1, 2) : rounded;
}

}  // namespace qkv::internal
