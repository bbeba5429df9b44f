#include "qkv/attention/distributed/add_rows.h"

#include "qkv/attention/engine/tiles.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"

namespace qkv::internal {

void add_rows(const Tensor& sum, const Tensor& x) {
  const int64_t heads = x.dim(1), n = x.dim(2), width = x.dim(3);
  Tensor to = sum;
  parallel_ranges(x.dim(0) * heads * n, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / (heads * n), h = i / n % heads, row = i % n;
      kernel::kernels().rows.add_scaled(row_pointer(x, b, h, row), 1.0f, width, row_pointer(to, b, h, row));
    }
  });
}

}  // namespace qkv::internal
