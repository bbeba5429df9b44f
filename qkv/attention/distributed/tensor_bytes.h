// The memory of a contiguous tensor, as a message.
#pragma once

#include "qkv/base/communicator.h"
#include "qkv/tensor/tensor.h"

namespace qkv::internal {

inline Bytes tensor_bytes(const Tensor& x) {
  if (x.dtype() == DType::bf16) return std::as_bytes(x.span<bfloat16>());
  return std::as_bytes(x.span<float>());
}
inline MutableBytes writable_tensor_bytes(Tensor& x) {
  if (x.dtype() == DType::bf16) return std::as_writable_bytes(x.span<bfloat16>());
  return std::as_writable_bytes(x.span<float>());
}

}  // namespace qkv::internal
