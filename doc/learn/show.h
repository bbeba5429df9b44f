// What the fragments of the chapters use besides the library.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "doc/normal.h"
#include "qkv/tensor/tensor.h"

namespace qkv::learn {

using doc::normal;

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
