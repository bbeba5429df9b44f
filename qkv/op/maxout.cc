#include "qkv/op/maxout.h"

#include <algorithm>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/op/rows.h"

namespace qkv {

Variable maxout(const Variable& x, int64_t pieces) {
  require(x.value().rank() >= 1 && pieces > 0 && x.dim(-1) % pieces == 0, "maxout",
          "the width of x {} must be a multiple of {} pieces", x.shape(), pieces);
  const OpScope scope("maxout", OpWork::moves(x.value(), 1));
  const Tensor in = x.value().contiguous_copy();
  Shape shape = x.shape();
  shape[shape.rank() - 1] /= pieces;
  Tensor y = Tensor::empty(shape);
  const float* numbers = in.data<float>();
  float* largest = y.data<float>();
  for_each_range(y.numel(), [&](int64_t i, int64_t end) {
    for (; i < end; ++i) largest[i] = *std::max_element(numbers + i * pieces, numbers + (i + 1) * pieces);
  });
  return record("maxout", {x}, y, [in, pieces](const Tensor& grad, const std::vector<bool>&) {
    count_work(OpWork::moves(in, 2));
    const Tensor dy = grad.contiguous_copy();
    Tensor dx = Tensor::zeros(in.shape());
    const float *from = in.data<float>(), *g = dy.data<float>();
    float* to = dx.data<float>();
    for_each_range(dy.numel(), [&](int64_t i, int64_t end) {
      for (; i < end; ++i) to[std::max_element(from + i * pieces, from + (i + 1) * pieces) - from] = g[i];
    });
    return std::vector<Tensor>{dx};
  });
}

}  // namespace qkv
