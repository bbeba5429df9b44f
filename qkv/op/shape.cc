#include "qkv/op/shape.h"

#include <utility>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"

namespace qkv {

Variable reshape(const Variable& x, const Shape& shape) {
  const OpScope scope("reshape");
  return record("reshape", {x}, x.value().contiguous_copy().reshape(shape),
                [from = x.shape()](const Tensor& dy, const std::vector<bool>&) {
                  return std::vector<Tensor>{dy.contiguous_copy().reshape(from)};
                });
}

Variable transpose(const Variable& x, int a, int b) {
  const OpScope scope("transpose");
  return record("transpose", {x}, x.value().transpose(a, b), [a, b](const Tensor& dy, const std::vector<bool>&) {
    return std::vector<Tensor>{dy.transpose(a, b)};
  });
}

Variable slice(const Variable& x, int axis, int64_t begin, int64_t end) {
  const OpScope scope("slice");
  return record("slice", {x}, x.value().slice(axis, begin, end),
                [axis, begin, end, from = x.shape()](const Tensor& dy, const std::vector<bool>&) {
                  Tensor dx = Tensor::zeros(from);
                  dx.slice(axis, begin, end).copy_from(dy);
                  return std::vector<Tensor>{dx};
                });
}

Variable split_heads(const Variable& x, int64_t heads) {
  if (x.value().rank() != 3 || heads <= 0 || x.dim(2) % heads != 0)
    fail("split_heads", "x is {}: its width must be a multiple of {} heads", describe("BTC", x.shape()), heads);
  const OpScope scope("split_heads");
  const Shape split = {x.dim(0), x.dim(1), heads, x.dim(2) / heads};
  return record("split_heads", {x}, x.value().contiguous_copy().reshape(split).transpose(1, 2),
                [from = x.shape()](const Tensor& dy, const std::vector<bool>&) {
                  return std::vector<Tensor>{dy.transpose(1, 2).contiguous_copy().reshape(from)};
                });
}

Variable join_heads(const Variable& x) {
  require(x.value().rank() == 4, "join_heads", "x must be (B,H,T,D), got {}", x.shape());
  const OpScope scope("join_heads");
  Tensor rows = x.value().transpose(1, 2).contiguous_copy();
  const Shape split = rows.shape();
  return record("join_heads", {x}, std::move(rows).reshape({split[0], split[1], split[2] * split[3]}),
                [from = split](const Tensor& dy, const std::vector<bool>&) {
                  return std::vector<Tensor>{dy.contiguous_copy().reshape(from).transpose(1, 2)};
                });
}

}  // namespace qkv
