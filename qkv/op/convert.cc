#include "qkv/op/convert.h"

#include "qkv/autograd/profile.h"
#include "qkv/kernel/kernels.h"
#include "qkv/op/rows.h"
#include "qkv/tensor/layout.h"

namespace qkv {

namespace {

bool same_order(const Tensor& x, const Tensor& y) {
  for (int axis = 0; axis < x.rank(); ++axis)
    if (x.dim(axis) > 1 && x.stride(axis) != y.stride(axis)) return false;
  return true;
}

// f32 to bf16, or bf16 to f32, of tensors with the same order of memory and without gaps.
void convert_in_order(const Tensor& x, Tensor& y) {
  const kernel::RowKernels& rows = kernel::kernels().rows;
  const bool rounds = y.dtype() == DType::bf16;
  const auto* const floats = rounds ? x.data<float>() : nullptr;
  const auto* const bits = rounds ? nullptr : reinterpret_cast<const uint16_t*>(x.data<bfloat16>());
  auto* const to_bits = rounds ? reinterpret_cast<uint16_t*>(y.data<bfloat16>()) : nullptr;
  float* const to_floats = rounds ? nullptr : y.data<float>();
  for_each_range(x.numel(), [&](int64_t begin, int64_t end) {
    if (rounds)
      rows.round_to_nearest(floats + begin, end - begin, to_bits + begin);
    else
      rows.widen(bits + begin, end - begin, to_floats + begin);
  });
}

}  // namespace

Tensor convert(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  const bool by_kernels =
      (x.dtype() == DType::f32 && dtype == DType::bf16) || (x.dtype() == DType::bf16 && dtype == DType::f32);
  if (!by_kernels && x.contiguous()) return x.to(dtype);
  Tensor y = empty_in_order_of(x, x.shape(), dtype);
  if (by_kernels && same_order(x, y))
    convert_in_order(x, y);
  else
    y.copy_from(x.to(dtype));
  return y;
}

Variable convert(const Variable& x, DType dtype) {
  const DType from = x.value().dtype();
  if (from == dtype) return x;
  const OpScope scope("convert", OpWork::moves(x.value(), 2));
  return record("convert", {x}, convert(x.value(), dtype), [from](const Tensor& dy, const std::vector<bool>&) {
    return std::vector<Tensor>{convert(dy, from)};
  });
}

}  // namespace qkv
