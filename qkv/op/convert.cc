#include "qkv/op/convert.h"

#include "qkv/autograd/profile.h"
#include "qkv/tensor/layout.h"

namespace qkv {

Tensor convert(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  if (x.contiguous()) return x.to(dtype);
  Tensor y = empty_in_order_of(x, x.shape(), dtype);
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
