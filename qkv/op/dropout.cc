#include "qkv/op/dropout.h"

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

Tensor dropped(const Tensor& x, const kernel::DropoutKey& key) {
  Tensor y = Tensor::empty(x.shape());
  const float* from = x.data<float>();
  float* to = y.data<float>();
  for_each_range(y.numel(), [&](int64_t i, int64_t end) {
    kernel::kernels().rows.dropout(from + i, end - i, key, i, to + i);
  });
  return y;
}

}  // namespace

Variable dropout(const Variable& x, const Dropout& options) {
  const kernel::DropoutKey key = checked_key(options);
  if (options.rate == 0) return x;
  const OpScope scope("dropout", OpWork::moves(x.value(), 2));
  return record("dropout", {x}, dropped(x.value().contiguous_copy(), key),
                [key](const Tensor& dy, const std::vector<bool>&) {
                  count_work(OpWork::moves(dy, 2));
                  return std::vector<Tensor>{dropped(dy.contiguous_copy(), key)};
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
  for_each_range(y.numel(), [&](int64_t i, int64_t end) {
    kernel::kernels().rows.dropout_add(from + i, r + i, end - i, key, i, to + i);
  });
  return record("dropout_add", {x, residual}, y, [key](const Tensor& dy, const std::vector<bool>& needs) {
    if (needs[0]) count_work(OpWork::moves(dy, 2));
    return std::vector<Tensor>{needs[0] ? dropped(dy.contiguous_copy(), key) : Tensor(), dy};
  });
}

}  // namespace qkv
