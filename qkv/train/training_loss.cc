#include "qkv/train/training_loss.h"

#include <algorithm>

namespace qkv {

Tensor twice(const Tensor& rows) {
  const Tensor once = rows.contiguous_copy();
  Shape shape = rows.shape();
  shape[0] *= 2;
  Tensor both = Tensor::empty(shape, rows.dtype());
  const auto from = once.span<int32_t>();
  int32_t* to = both.data<int32_t>();
  std::copy(from.begin(), from.end(), std::copy(from.begin(), from.end(), to));
  return both;
}

std::vector<int32_t> twice(const std::vector<int32_t>& rows) {
  std::vector<int32_t> both = rows;
  both.insert(both.end(), rows.begin(), rows.end());
  return both;
}

}  // namespace qkv
