#include "qkv/op/shape.h"

#include <utility>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"

namespace qkv {

namespace {

// change(x) on the tape. Where nothing is recorded, it takes what x holds.
template <class Change, class F>
Variable changed(std::string_view op, Variable x, Change change, F&& backward) {
  const OpScope scope(op);
  if (!recording({x})) return change(std::move(x).value());
  return record(op, {x}, change(x.value()), std::forward<F>(backward));
}

}  // namespace

Variable reshape(Variable x, const Shape& shape) {
  const Shape from = x.shape();
  const Recomputation recomputation = x.recomputation();
  Variable y = changed(
      "reshape", std::move(x), [&](Tensor value) { return std::move(value).contiguous_copy().reshape(shape); },
      [from](const Tensor& dy, const std::vector<bool>&) {
        return std::vector<Tensor>{dy.contiguous_copy().reshape(from)};
      });
  if (!recomputation) return y;
  return std::move(y).recomputed_by(
      [recomputation, shape] { return recomputation().contiguous_copy().reshape(shape); });
}

Variable transpose(Variable x, int a, int b) {
  return changed(
      "transpose", std::move(x), [&](Tensor y) { return std::move(y).transpose(a, b); },
      [a, b](const Tensor& dy, const std::vector<bool>&) { return std::vector<Tensor>{dy.transpose(a, b)}; });
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

Variable split_heads(Variable x, int64_t heads) {
  if (x.value().rank() != 3 || heads <= 0 || x.dim(2) % heads != 0)
    fail("split_heads", "x is {}: its width must be a multiple of {} heads", describe("BTC", x.shape()), heads);
  const Shape from = x.shape(), split = {from[0], from[1], heads, from[2] / heads};
  return changed(
      "split_heads", std::move(x),
      [&](Tensor y) { return std::move(y).contiguous_copy().reshape(split).transpose(1, 2); },
      [from](const Tensor& dy, const std::vector<bool>&) {
        return std::vector<Tensor>{dy.transpose(1, 2).contiguous_copy().reshape(from)};
      });
}

Variable join_heads(Variable x) {
  const Shape from = x.shape();
  require(from.rank() == 4, "join_heads", "x must be (B,H,T,D), got {}", from);
  const Shape split = {from[0], from[2], from[1], from[3]};
  return changed(
      "join_heads", std::move(x),
      [&](Tensor y) {
        return std::move(y).transpose(1, 2).contiguous_copy().reshape({split[0], split[1], split[2] * split[3]});
      },
      [split](const Tensor& dy, const std::vector<bool>&) {
        return std::vector<Tensor>{dy.contiguous_copy().reshape(split).transpose(1, 2)};
      });
}

}  // namespace qkv
