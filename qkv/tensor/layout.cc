#include "qkv/tensor/layout.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "qkv/base/error.h"

namespace qkv {

Tensor empty_in_order_of(const Tensor& like, const Shape& shape, DType dtype) {
  require(like.rank() == shape.rank(), "empty_in_order_of", "shape {} must have as many axes as {}", shape,
          like.shape());
  const int rank = shape.rank();
  std::array<int, Shape::max_rank> order = {};  // axes from the slowest in memory to the fastest
  std::iota(order.begin(), order.begin() + rank, 0);
  // Axes of length 1 or stride 0 in `like` have no order: they keep their index.
  const auto outside = [&](int a, int b) {
    const bool speaks = like.dim(a) > 1 && like.dim(b) > 1 && like.stride(a) > 0 && like.stride(b) > 0;
    return speaks && like.stride(a) > like.stride(b);
  };
  for (int i = 1; i < rank - 1; ++i)  // insertion sort, stable; the last axis stays last
    for (int j = i; j > 0 && outside(order[static_cast<size_t>(j)], order[static_cast<size_t>(j - 1)]); --j)
      std::swap(order[static_cast<size_t>(j)], order[static_cast<size_t>(j - 1)]);
  Shape strides = shape;
  int64_t step = 1;
  for (int i = rank - 1; i >= 0; --i) {
    const int axis = order[static_cast<size_t>(i)];
    strides[axis] = step;
    step *= shape[axis];
  }
  return Tensor::view(Storage::allocate(step * size_of(dtype)), dtype, shape, strides);
}

}  // namespace qkv
