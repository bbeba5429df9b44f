#include "qkv/op/dropout.h"

#include <utility>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/kernel/kernels.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/rows.h"

namespace qkv {
namespace {

kernel::DropoutKey checked_key(const Dropout& o) {
  require(o.rate >= 0 && o.rate < 1, "dropout", "the rate must be in [0, 1), got {}", o.rate);
  return kernel::dropout_key(o.seed, o.stream, o.rate);
}

// Calls range(begin, end, index) for all elements; index: of the first one in the whole.
template <class Range>
void for_each_range_of(const ZigzagPart& part, const Shape& shape, Range range) {
  const int64_t n = shape.numel();
  if (part.is_whole()) return for_each_range(n, [&](int64_t begin, int64_t end) { range(begin, end, begin); });
  require(shape.rank() >= 2, "dropout", "a part of sequences must be (B,rows,...), got {}", shape);
  const int64_t B = shape[0], rows = shape[1];
  if (n == 0) return;
  const int64_t width = n / (B * rows);
  const std::vector<ZigzagPart::Run> runs = part.runs(rows);
  for (int64_t b = 0; b < B; ++b)
    for (const ZigzagPart::Run& run : runs) {
      const int64_t first = (b * rows + run.row) * width, index = (b * rows * part.ranks + run.position) * width;
      for_each_range(run.count * width,
                     [&](int64_t begin, int64_t end) { range(first + begin, first + end, index + begin); });
    }
}

// y may be x.
void drop(const Tensor& x, const kernel::DropoutKey& key, const ZigzagPart& part, Tensor& y) {
  const float* from = x.data<float>();
  float* to = y.data<float>();
  for_each_range_of(part, x.shape(), [&](int64_t i, int64_t end, int64_t index) {
    kernel::kernels().rows.dropout(from + i, end - i, key, index, to + i);
  });
}

Tensor dropped(const Tensor& x, const kernel::DropoutKey& key, const ZigzagPart& part) {
  Tensor y = Tensor::empty(x.shape());
  drop(x, key, part, y);
  return y;
}

Tensor gradient(const Tensor& dy, const kernel::DropoutKey& key, const ZigzagPart& part) {
  count_work(OpWork::moves(dy, 2));
  Tensor dx = in_place_or_empty(dy);
  drop(dy.contiguous_copy(), key, part, dx);
  return dx;
}

}  // namespace

Variable dropout(const Variable& x, const Dropout& options) {
  const kernel::DropoutKey key = checked_key(options);
  if (options.rate == 0) return x;
  const OpScope scope("dropout", OpWork::moves(x.value(), 2));
  Variable y = record("dropout", {x}, dropped(x.value().contiguous_copy(), key, options.part),
                      [key, part = options.part](const Tensor& dy, const std::vector<bool>&) {
                        return std::vector<Tensor>{gradient(dy, key, part)};
                      });
  if (!x.recomputation()) return y;
  return std::move(y).recomputed_by([recomputed = x.recomputation(), key, part = options.part] {
    return dropped(recomputed().contiguous_copy(), key, part);
  });
}

Variable dropout_add(const Variable& x, const Variable& residual, const Dropout& options) {
  const kernel::DropoutKey key = checked_key(options);
  if (options.rate == 0) return add(x, residual);
  require(x.shape() == residual.shape(), "dropout_add", "x and residual must have the same shape: {} and {}",
          x.shape(), residual.shape());
  const OpScope scope("dropout_add", OpWork::moves(x.value(), 3));
  const Tensor in = x.value().contiguous_copy(), rest = residual.value().contiguous_copy();
  Tensor y = Tensor::empty(in.shape());
  const float *from = in.data<float>(), *r = rest.data<float>();
  float* to = y.data<float>();
  for_each_range_of(options.part, in.shape(), [&](int64_t i, int64_t end, int64_t index) {
    kernel::kernels().rows.dropout_add(from + i, r + i, end - i, key, index, to + i);
  });
  return record("dropout_add", {x, residual}, y,
                [key, part = options.part](const Tensor& dy, const std::vector<bool>& needs) {
                  if (needs[0]) count_work(OpWork::moves(dy, 2));
                  return std::vector<Tensor>{needs[0] ? dropped(dy.contiguous_copy(), key, part) : Tensor(), dy};
                });
}

}  // namespace qkv
