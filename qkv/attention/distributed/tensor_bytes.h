// Contiguous tensors as messages.
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

// Exchanges messages of which either may be empty: then nothing is sent.
inline void exchange(Communicator& c, int to, const Tensor& sent, int from, Tensor& received) {
  c.exchange(sent.numel() > 0 ? to : Communicator::no_rank, tensor_bytes(sent),
             received.numel() > 0 ? from : Communicator::no_rank, writable_tensor_bytes(received));
}

}  // namespace qkv::internal
