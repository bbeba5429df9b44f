// What the fragments of the chapters use besides the library.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "qkv/base/random.h"
#include "qkv/tensor/tensor.h"

namespace qkv::learn {

// Normally distributed numbers, the same for the same stream.
inline Tensor normal(const Shape& shape, uint64_t stream, double spread = 1.0) {
  Tensor x = Tensor::empty(shape);
  Random random(1, stream);
  for (float& number : x.span<float>()) number = static_cast<float>(spread * random.normal());
  return x;
}

// Prints the last two axes of the first batch row and head, a row on each line.
inline void show(const Tensor& x, int digits = 2) {
  Tensor rows = x;
  while (rows.rank() > 2) rows = rows.select(0, 0);
  if (rows.rank() == 1) rows = rows.contiguous_copy().reshape({1, rows.dim(0)});
  for (int64_t i = 0; i < rows.dim(0); ++i) {
    for (int64_t j = 0; j < rows.dim(1); ++j) {
      const double number = rows.at<float>({i, j});
      // Without this, a last bit decides between -0.00 and 0.00.
      fmt::print("{}{:.{}f}", j ? "  " : "", std::abs(number) < 0.5 * std::pow(10, -digits) ? 0.0 : number, digits);
    }
    fmt::print("\n");
  }
}

}  // namespace qkv::learn
