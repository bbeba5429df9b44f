// Transposes on every instruction set: exact for whole squares and for edges; nothing is written past the edges.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/kernel/kernels.h"

namespace qkv::kernel::transpose_test {

struct Sizes {
  int64_t rows, columns;
};
constexpr Sizes sizes[] = {{1, 1}, {3, 5}, {16, 16}, {17, 8}, {33, 40}, {64, 64}, {50, 96}, {64, 7}};

// Distinct numbers for all elements of an array with a stride, and NaN between the rows.
std::vector<float> numbers(int64_t rows, int64_t columns, int64_t stride) {
  std::vector<float> x(static_cast<size_t>(rows * stride), NAN);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      x[static_cast<size_t>(r * stride + c)] = static_cast<float>(1 + r * 1000 + c);
  return x;
}

TEST(Transpose, TransposesRowsInAndPadsWithZeros) {
  for (const Kernels* k : all_kernels()) {
    for (const auto& [rows, columns] : sizes) {
      SCOPED_TRACE(testing::Message() << k->isa << ": " << rows << " x " << columns);
      const int64_t stride = columns + 3, width = (rows + k->lanes - 1) / k->lanes * k->lanes,
                    out_stride = width + 5;
      const std::vector<float> in = numbers(rows, columns, stride);
      std::vector<float> out(static_cast<size_t>(columns * out_stride), -1.0f);
      k->attention.transpose_in(in.data(), stride, rows, columns, out.data(), width, out_stride);
      for (int64_t c = 0; c < columns; ++c)
        for (int64_t r = 0; r < out_stride; ++r) {
          const float wanted = r >= width ? -1.0f : r >= rows ? 0.0f : in[static_cast<size_t>(r * stride + c)];
          ASSERT_EQ(out[static_cast<size_t>(c * out_stride + r)], wanted) << "column " << c << ", row " << r;
        }
    }
  }
}

TEST(Transpose, TransposesOutAndScalesEachRow) {
  for (const Kernels* k : all_kernels()) {
    for (const auto& [rows, columns] : sizes) {
      SCOPED_TRACE(testing::Message() << k->isa << ": " << rows << " x " << columns);
      const int64_t width = (rows + k->lanes - 1) / k->lanes * k->lanes, out_stride = columns + 2;
      const std::vector<float> in = numbers(columns, width, width);
      std::vector<float> factor(static_cast<size_t>(width)), out(static_cast<size_t>(rows * out_stride), -1.0f);
      for (size_t i = 0; i < factor.size(); ++i) factor[i] = 0.5f + static_cast<float>(i);
      k->attention.transpose_out(in.data(), width, rows, columns, factor.data(), out.data(), out_stride);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < out_stride; ++c) {
          const float wanted =
              c < columns ? in[static_cast<size_t>(c * width + r)] * factor[static_cast<size_t>(r)] : -1.0f;
          ASSERT_EQ(out[static_cast<size_t>(r * out_stride + c)], wanted) << "row " << r << ", column " << c;
        }
    }
  }
}

}  // namespace qkv::kernel::transpose_test
