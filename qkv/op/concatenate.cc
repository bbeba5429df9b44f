#include "qkv/op/concatenate.h"

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"

namespace qkv {
namespace {

Tensor joined(const std::vector<Tensor>& parts, int axis) {
  Shape shape = parts.front().shape();
  shape[axis] = 0;
  for (const Tensor& part : parts) {
    Shape others = part.shape();
    if (others.rank() == shape.rank()) others[axis] = shape[axis];
    require(others == shape && part.dtype() == parts.front().dtype(), "concatenate",
            "{} {} and {} {}: only axis {} may differ", name_of(parts.front().dtype()), parts.front().shape(),
            name_of(part.dtype()), part.shape(), axis);
    shape[axis] += part.dim(axis);
  }
  Tensor whole = Tensor::empty(shape, parts.front().dtype());
  int64_t begin = 0;
  for (const Tensor& part : parts) {
    whole.slice(axis, begin, begin + part.dim(axis)).copy_from(part);
    begin += part.dim(axis);
  }
  return whole;
}

}  // namespace

Variable concatenate(const std::vector<Variable>& parts, int axis) {
  const OpScope scope("concatenate");
  require(!parts.empty() && axis >= 0 && axis < parts.front().value().rank(), "concatenate",
          "axis {} of {} tensors: expected at least one tensor that has the axis", axis, parts.size());
  std::vector<Tensor> values;
  std::vector<int64_t> sizes;
  values.reserve(parts.size());
  sizes.reserve(parts.size());
  for (const Variable& part : parts) values.push_back(part.value());
  const Tensor whole = joined(values, axis);
  count_work(OpWork::moves(whole, 2));
  for (const Tensor& value : values) sizes.push_back(value.dim(axis));
  return record("concatenate", parts, whole, [axis, sizes](const Tensor& grad, const std::vector<bool>&) {
    std::vector<Tensor> grads;
    int64_t begin = 0;
    for (const int64_t size : sizes) {
      grads.push_back(grad.slice(axis, begin, begin + size));
      begin += size;
    }
    return grads;
  });
}

// The positions share one gradient: the first one that the backward reaches makes it and passes it to `all`, the
// others write into it. `all` was recorded before every position, so it is visited after all of them have written.
std::vector<Variable> split(const Variable& x, int axis) {
  const OpScope scope("split");
  const Variable all = record("split", {x}, x.value(), [](const Tensor& grad, const std::vector<bool>&) {
    return std::vector<Tensor>{grad};
  });
  const auto dx = std::make_shared<Tensor>();
  std::vector<Variable> positions;
  for (int64_t i = 0; i < x.dim(axis); ++i)
    positions.push_back(record(
        "split", {all}, x.value().slice(axis, i, i + 1),
        [dx, axis, i, shape = x.shape(), dtype = x.value().dtype()](const Tensor& grad, const std::vector<bool>&) {
          count_work(OpWork::moves(grad, 2));
          const bool first = !dx->defined();
          if (first) *dx = Tensor::zeros(shape, dtype);
          dx->slice(axis, i, i + 1).copy_from(grad);
          return std::vector<Tensor>{first ? *dx : Tensor()};
        }));
  return positions;
}

}  // namespace qkv
