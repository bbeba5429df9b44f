#include "qkv/op/softmax.h"

#include <algorithm>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/kernel/kernels.h"
#include "qkv/op/rows.h"

namespace qkv {
namespace {

// Over the first length(row) entries of each row; the others are masked.
template <class Length>
Variable softmax_rows(const char* op, const Variable& x, Length length) {
  const OpScope scope(op, OpWork::moves(x.value(), 2));
  const Tensor in = x.value().contiguous_copy();
  const int64_t S = in.dim(-1), M = S > 0 ? in.numel() / S : 0;
  Tensor y = Tensor::empty(in.shape());
  const float* from = in.data<float>();
  float* to = y.data<float>();
  for_each_row(M, S, [&](int64_t m) {
    const int64_t n = length(m);
    if (n > 0) kernel::kernels().rows.softmax(from + m * S, n, to + m * S);
    std::fill(to + m * S + n, to + (m + 1) * S, 0.0f);
  });
  return record(op, {x}, y, [y, M, S](const Tensor& grad, const std::vector<bool>&) {
    count_work(OpWork::moves(grad, 3));
    const Tensor dy = grad.contiguous_copy();
    Tensor dx = Tensor::empty(y.shape());
    const float *w = y.data<float>(), *g = dy.data<float>();
    float* out = dx.data<float>();
    for_each_row(M, S,
                 [&](int64_t m) { kernel::kernels().rows.softmax_backward(w + m * S, g + m * S, S, out + m * S); });
    return std::vector<Tensor>{dx};
  });
}

}  // namespace

Variable softmax(const Variable& x) {
  require(x.value().rank() >= 1, "softmax", "needs at least one axis");
  return softmax_rows("softmax", x, [S = x.dim(-1)](int64_t) { return S; });
}

Variable masked_softmax(const Variable& x, const Tensor& lengths) {
  require(x.value().rank() == 3 && lengths.dtype() == DType::i32 &&
              (lengths.shape() == Shape{x.dim(0)} || lengths.shape() == Shape{x.dim(0), x.dim(1)}),
          "masked_softmax", "x is {}, lengths are {} {}: expected i32 (B) or (B,T)", describe("BTS", x.shape()),
          name_of(lengths.dtype()), lengths.shape());
  const Tensor contiguous = lengths.contiguous_copy();
  const auto n = contiguous.span<int32_t>();
  for (const int32_t length : n)
    require(length >= 0 && length <= x.dim(2), "masked_softmax", "lengths must be 0 to S {}, got {}", x.dim(2),
            length);
  const int64_t rows_each = lengths.rank() == 1 ? x.dim(1) : 1;
  return softmax_rows("masked_softmax", x,
                      [n, rows_each](int64_t m) { return int64_t{n[static_cast<size_t>(m / rows_each)]}; });
}

}  // namespace qkv
