#include "qkv/op/rows.h"

#include "qkv/base/integers.h"
#include "qkv/kernel/kernels.h"

namespace qkv {

Tensor sum_over_rows(int64_t rows, int64_t width, FunctionRef<void(int64_t, int64_t, float*)> accumulate) {
  const int64_t piece = std::max<int64_t>(ceil_div(rows, 64), 32);
  const int64_t pieces = std::max<int64_t>(1, ceil_div(rows, piece));
  Tensor partial = Tensor::zeros({pieces, width});
  float* sums = partial.data<float>();
  parallel_for(pieces,
               [&](int64_t i) { accumulate(i * piece, std::min(rows, (i + 1) * piece), sums + i * width); });
  if (pieces == 1) return partial.reshape({width});
  Tensor out = Tensor::zeros({width});
  kernel::kernels().rows.add_rows(out.data<float>(), sums, pieces, width, width);
  return out;
}

Tensor sum_rows(const Tensor& x, int64_t width) {
  const float* data = x.data<float>();
  return sum_over_rows(x.numel() / std::max<int64_t>(1, width), width,
                       [&](int64_t begin, int64_t end, float* sums) {
                         kernel::kernels().rows.add_rows(sums, data + begin * width, end - begin, width, width);
                       });
}

}  // namespace qkv
