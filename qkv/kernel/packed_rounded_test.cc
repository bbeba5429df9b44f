#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/random.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/matmul.h"
#include "qkv/tensor/dtype.h"

namespace qkv::kernel::packed_rounded_test {

std::vector<float> normal(int64_t n, uint64_t stream) {
  std::vector<float> out(static_cast<size_t>(n));
  Random random(7, stream);
  for (float& x : out) x = static_cast<float>(random.normal());
  return out;
}

double rounded(float x) { return static_cast<float>(bfloat16(x)); }

// A factor stored by rows, or by columns as the transpose of one.
Matrix stored(const std::vector<float>& numbers, int64_t rows, int64_t columns, bool by_rows) {
  return by_rows ? Matrix(numbers.data(), rows, columns) : Matrix(numbers.data(), columns, rows).transposed();
}

struct Shape3 {
  int64_t M, K, N;
};
constexpr std::array shapes = {Shape3{1, 1, 1},     Shape3{3, 2, 16},     Shape3{7, 5, 17},   Shape3{33, 64, 64},
                               Shape3{130, 96, 80}, Shape3{65, 1100, 70}, Shape3{300, 513, 3}};

TEST(RoundedProduct, IsThatOfTheRoundedFactors) {
  for (const auto& [M, K, N] : shapes)
    for (const bool a_by_rows : {true, false})
      for (const bool b_by_rows : {true, false}) {
        const std::vector<float> a = normal(M * K, 1), b = normal(K * N, 2), bias = normal(N, 3);
        const Matrix am = stored(a, M, K, a_by_rows), bm = stored(b, K, N, b_by_rows);
        const PackedMatrix packed = PackedMatrix::rounded(bm);
        std::vector<float> plain(static_cast<size_t>(M * N)), sum = normal(M * N, 4), biased = plain;
        const std::vector<float> before = sum;
        matmul(am, packed, plain.data(), N);
        matmul(am, packed, sum.data(), N, {.accumulate = true});
        matmul(am, packed, biased.data(), N, {.bias = bias.data(), .relu = true});
        for (int64_t m = 0; m < M; ++m)
          for (int64_t n = 0; n < N; ++n) {
            double exact = 0, size = 0;
            for (int64_t k = 0; k < K; ++k) {
              const double term = rounded(am.data[m * am.row_stride + k * am.column_stride]) *
                                  rounded(bm.data[k * bm.row_stride + n * bm.column_stride]);
              exact += term, size += std::abs(term);
            }
            const auto i = static_cast<size_t>(m * N + n);
            const double bound = 1e-6 * (size + 1);
            ASSERT_NEAR(plain[i], exact, bound) << M << " x " << K << " x " << N << " at " << m << ", " << n;
            ASSERT_NEAR(sum[i], exact + before[i], bound);
            ASSERT_NEAR(biased[i], std::max(0.0, exact + bias[static_cast<size_t>(n)]), bound);
          }
      }
}

TEST(RoundedProduct, RowsHaveTheSameBitsForAnyNeighborsAndThreads) {
  const int64_t M = 260, K = 1030, N = 200;
  const std::vector<float> a = normal(M * K, 1), b = normal(N * K, 2);
  const PackedMatrix packed = PackedMatrix::rounded(Matrix(b.data(), N, K).transposed());
  std::vector<float> all(static_cast<size_t>(M * N)), again = all, one(static_cast<size_t>(N));
  const int before = threads();
  set_threads(1);
  matmul({a.data(), M, K}, packed, all.data(), N);
  set_threads(3);
  matmul({a.data(), M, K}, packed, again.data(), N);
  set_threads(before);
  EXPECT_EQ(all, again);
  for (int64_t m = 0; m < M; m += 37) {
    matmul({a.data() + m * K, 1, K}, packed, one.data(), N);
    EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin() + m * N)) << m;
  }
}

TEST(RoundedProduct, GivesItsNumbersBack) {
  const int64_t K = 37, N = 70;
  const std::vector<float> b = normal(N * K, 2);
  for (const bool by_rows : {true, false}) {
    const Matrix matrix = stored(b, K, N, by_rows);
    const PackedMatrix packed = PackedMatrix::rounded(matrix);
    EXPECT_EQ(packed.format(), WeightFormat::bf16);
    std::vector<float> column(static_cast<size_t>(K));
    std::vector<uint8_t> bytes(static_cast<size_t>(2 * K));
    for (int64_t n = 0; n < N; ++n) {
      packed.copy_column(n, column.data());
      packed.copy_stored(n, bytes.data());
      for (int64_t k = 0; k < K; ++k) {
        const bfloat16 expected(matrix.data[k * matrix.row_stride + n * matrix.column_stride]);
        EXPECT_EQ(column[static_cast<size_t>(k)], static_cast<float>(expected));
        EXPECT_EQ(bytes[static_cast<size_t>(2 * k)] | bytes[static_cast<size_t>(2 * k + 1)] << 8, expected.bits);
      }
    }
  }
}

}  // namespace qkv::kernel::packed_rounded_test
