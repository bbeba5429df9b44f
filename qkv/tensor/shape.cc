#include "qkv/tensor/shape.h"

#include <algorithm>

#include "qkv/base/error.h"

namespace qkv {

void Shape::refuse(std::span<const int64_t> dims) {
  require(dims.size() <= max_rank, "Shape", "at most {} axes, got {}", max_rank, dims.size());
  Shape shape;
  std::copy(dims.begin(), dims.end(), shape.dims_);
  shape.rank_ = static_cast<int>(dims.size());
  fail("Shape", "an axis cannot have a negative length: {}", shape);
}

void Shape::refuse(int axis) const {
  fail("Shape", "axis {} is out of range for a tensor with {} axes", axis, rank_);
}

int64_t Shape::numel() const {
  constexpr int64_t max_elements = int64_t{1} << 56;  // so that the number of bytes does not overflow either
  int64_t n = 1;
  for (const int64_t d : *this)
    require(!__builtin_mul_overflow(n, d, &n) && n <= max_elements, "Shape", "too many elements: {}", *this);
  return n;
}

void Shape::push_back(int64_t dim) {
  require(rank_ < max_rank, "Shape", "at most {} axes", max_rank);
  dims_[rank_++] = dim;
}

std::string to_string(const Shape& shape) {
  std::string out;
  for (const int64_t dim : shape) out += fmt::format("{}{}", out.empty() ? "(" : ", ", dim);
  return out.empty() ? "()" : out + ")";
}

std::string to_string(const Description& description) {
  const auto& [axes, shape] = description;
  if (static_cast<int>(axes.size()) != shape.rank()) return to_string(shape);
  std::string out = "(";
  for (int i = 0; i < shape.rank(); ++i) out += fmt::format("{}{} {}", i ? ", " : "", axes[i], shape[i]);
  return out + ")";
}

}  // namespace qkv

fmt::format_context::iterator fmt::formatter<qkv::Shape>::format(const qkv::Shape& shape,
                                                                 format_context& context) const {
  return fmt::format_to(context.out(), "{}", to_string(shape));
}

fmt::format_context::iterator fmt::formatter<qkv::Description>::format(const qkv::Description& description,
                                                                       format_context& context) const {
  return fmt::format_to(context.out(), "{}", to_string(description));
}
