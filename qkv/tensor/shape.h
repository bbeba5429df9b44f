// The lengths of the axes of a tensor, at most six, and their text in error messages.
//
//     Shape s{2, 8, 128, 64};
//     fmt::print("{}", describe("BHTD", s));        // (B 2, H 8, T 128, D 64)
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace qkv {

class Shape {
 public:
  static constexpr int max_rank = 6;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims) : rank_(static_cast<int>(dims.size())) {
    bool is_valid = dims.size() <= max_rank;
    for (size_t i = 0; is_valid && i < dims.size(); ++i) is_valid = (dims_[i] = dims[i]) >= 0;
    if (!is_valid) [[unlikely]]
      refuse(dims);
  }

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return dims_[axis]; }
  int64_t& operator[](int axis) { return dims_[axis]; }
  int64_t dim(int axis) const {  // negative axes count from the end; checked
    const int a = axis < 0 ? axis + rank_ : axis;
    if (a < 0 || a >= rank_) [[unlikely]]
      refuse(axis);
    return dims_[a];
  }
  int64_t numel() const;  // 1 for rank 0; at most 2^56
  const int64_t* begin() const { return dims_; }
  const int64_t* end() const { return dims_ + rank_; }
  void push_back(int64_t dim);

  friend bool operator==(const Shape& a, const Shape& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  [[noreturn]] void refuse(int axis) const;
  [[noreturn]] static void refuse(std::span<const int64_t> dims);

  int64_t dims_[max_rank] = {};
  int rank_ = 0;
};

std::string to_string(const Shape& shape);  // "(2, 8, 128, 64)"

// A shape with a letter for each axis (B batch, H query heads, ...), without letters if their number differs. It is
// formatted only when printed, because checks pass it whether they fail or not.
struct Description {
  std::string_view axes;
  Shape shape;
};
inline Description describe(std::string_view axes, const Shape& shape) { return {axes, shape}; }
std::string to_string(const Description& description);

}  // namespace qkv

// For "{}" only. Not templates over the context, with which every file that checks shapes would compile all of
// fmt's formatting again.
template <>
struct fmt::formatter<qkv::Shape> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  format_context::iterator format(const qkv::Shape& shape, format_context& context) const;
};

template <>
struct fmt::formatter<qkv::Description> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  format_context::iterator format(const qkv::Description& description, format_context& context) const;
};
