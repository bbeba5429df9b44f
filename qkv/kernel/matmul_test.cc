#include "qkv/kernel/matmul.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/random.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/tensor/dtype.h"

namespace qkv::kernel::matmul_test {

std::vector<float> normal(int64_t n, uint64_t stream) {
  std::vector<float> out(static_cast<size_t>(n));
  Random random(7, stream);
  for (float& x : out) x = static_cast<float>(random.normal());
  return out;
}

float element(const Matrix& m, int64_t i, int64_t j) { return m.data[i * m.row_stride + j * m.column_stride]; }

// c (M x N, row stride) against the formula, in units of the rounding of K products.
void expect_product(const Matrix& a, const Matrix& b, const std::vector<float>& before, const std::vector<float>& c,
                    int64_t stride, const MatmulOptions& options) {
  double error = 0.0;
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < stride; ++j) {
      const size_t at = static_cast<size_t>(i * stride + j);
      if (j >= b.columns) {
        ASSERT_EQ(c[at], before[at]) << "wrote outside the product";
        continue;
      }
      double y = options.accumulate ? before[at] : 0.0, size = std::abs(y) + 1.0;
      for (int64_t k = 0; k < a.columns; ++k) {
        const double term = double{element(a, i, k)} * element(b, k, j);
        y += term, size += std::abs(term);
      }
      if (options.bias) y += options.bias[j];
      if (options.relu) y = std::max(y, 0.0);
      error = std::max(error, std::abs(c[at] - y) / size);
    }
  EXPECT_LE(error, 5e-7) << a.rows << " x " << a.columns << " x " << b.columns;
}

struct Shape3 {
  int64_t M, K, N;
};
const Shape3 shapes[] = {{1, 1, 1},      {1, 5, 3},    {2, 1, 70},     {3, 64, 16},   {7, 33, 65},
                         {13, 128, 130}, {64, 64, 64}, {49, 17, 1},    {1, 300, 200}, {97, 40, 129},
                         {13, 2100, 66}, {5, 3, 600},  {400, 70, 530}, {20, 30, 2100}};

TEST(Matmul, EqualsTheFormulaPackedAndPlainInEveryOrientation) {
  for (const auto& [M, K, N] : shapes) {
    const std::vector<float> a = normal(M * K, 1), b = normal(K * N, 2), bias = normal(N, 3);
    for (bool a_transposed : {false, true})
      for (bool b_transposed : {false, true})
        for (const MatmulOptions& options :
             {MatmulOptions{}, MatmulOptions{.bias = bias.data()}, MatmulOptions{.accumulate = true},
              MatmulOptions{.bias = bias.data(), .accumulate = true},
              MatmulOptions{.bias = bias.data(), .relu = true}}) {
          const Matrix ma = a_transposed ? Matrix(a.data(), K, M).transposed() : Matrix(a.data(), M, K);
          const Matrix mb = b_transposed ? Matrix(b.data(), N, K).transposed() : Matrix(b.data(), K, N);
          const int64_t stride = N + 3;
          const std::vector<float> before = normal(M * stride, 4);
          std::vector<float> c = before;
          matmul(ma, mb, c.data(), stride, options);
          expect_product(ma, mb, before, c, stride, options);
          c = before;
          matmul(ma, PackedMatrix(mb), c.data(), stride, options);
          expect_product(ma, mb, before, c, stride, options);
        }
  }
}

TEST(Matmul, FactorsMayBePartsOfWiderMatrices) {
  const int64_t M = 20, K = 30, N = 40, wide = 100;
  const std::vector<float> a = normal(M * wide, 1), b = normal(K * wide, 2);
  const Matrix ma(a.data() + 5, M, K, wide, 1), mb(b.data() + 9, K, N, wide, 1);
  std::vector<float> c(static_cast<size_t>(M * N));
  matmul(ma, mb, c.data(), N);
  expect_product(ma, mb, c, c, N, {});
  matmul(ma, PackedMatrix(mb), c.data(), N);
  expect_product(ma, mb, c, c, N, {});
}

TEST(Matmul, AcceptsZeroRows) {
  const std::vector<float> b = normal(12, 1);
  matmul(Matrix(nullptr, 0, 3), PackedMatrix(Matrix(b.data(), 3, 4)), nullptr, 4);
  matmul(Matrix(nullptr, 0, 3), Matrix(b.data(), 3, 4), nullptr, 4);
}

// For any M and any row index, packed or not.
TEST(Matmul, TheBitsOfARowDoNotDependOnOtherRowsNorOnPacking) {
  for (const auto& [K, N] : {std::pair<int64_t, int64_t>{512, 200}, {2500, 70}, {33, 1}, {7, 1000}, {128, 65}}) {
    const int64_t max_rows = 300;
    const std::vector<float> a = normal(max_rows * K, 1), b = normal(K * N, 2), bias = normal(N, 3);
    const PackedMatrix packed(Matrix(b.data(), K, N));
    std::vector<float> all(static_cast<size_t>(max_rows * N)), some(all.size());
    matmul({a.data(), max_rows, K}, packed, all.data(), N, {.bias = bias.data()});
    for (int64_t M : {1, 2, 3, 4, 5, 6, 7, 11, 12, 48, 49, 100, 299})
      for (int64_t first : {int64_t{0}, int64_t{1}, (max_rows - M) / 2, max_rows - M}) {
        if (first + M > max_rows) continue;
        matmul({a.data() + first * K, M, K}, packed, some.data(), N, {.bias = bias.data()});
        ASSERT_TRUE(std::equal(some.begin(), some.begin() + M * N, all.begin() + first * N))
            << "M " << M << ", K " << K << ", N " << N << ", from row " << first;
        matmul({a.data() + first * K, M, K}, Matrix(b.data(), K, N), some.data(), N, {.bias = bias.data()});
        ASSERT_TRUE(std::equal(some.begin(), some.begin() + M * N, all.begin() + first * N))
            << "plain: M " << M << ", K " << K << ", N " << N << ", from row " << first;
      }
  }
}

TEST(Matmul, NoBitDependsOnTheNumberOfThreads) {
  const int before = threads();
  for (const auto& [M, K, N] :
       {Shape3{128, 1000, 130}, Shape3{300, 64, 700}, Shape3{1, 512, 512}, Shape3{17, 2100, 40},
        Shape3{600, 2049, 64}, Shape3{2100, 30, 20}, Shape3{500, 700, 300}}) {
    const std::vector<float> a = normal(M * K, 1), b = normal(K * N, 2);
    std::vector<std::vector<float>> packed, plain, transposed, batch;
    for (int count : {1, 2, 3, 4}) {
      set_threads(count);
      const size_t size = static_cast<size_t>(M * N);
      for (auto* results : {&packed, &plain, &transposed, &batch}) results->emplace_back(size);
      matmul({a.data(), M, K}, PackedMatrix(Matrix(b.data(), K, N)), packed.back().data(), N);
      matmul(Matrix(a.data(), M, K), Matrix(b.data(), K, N), plain.back().data(), N);
      matmul(Matrix(a.data(), K, M).transposed(), Matrix(b.data(), K, N), transposed.back().data(), N);
      batch.back().resize(2 * size);
      matmul_batch({.count = 2, .a_stride = 0, .b_stride = 0, .c_stride = M * N}, Matrix(a.data(), M, K),
                   Matrix(b.data(), K, N), batch.back().data(), N);
    }
    for (auto* results : {&packed, &plain, &transposed, &batch})
      for (const auto& result : *results) EXPECT_EQ(result, results->front()) << M << " x " << K << " x " << N;
  }
  set_threads(before);
}

// A weight gradient is the same sum in the same order for any memory layout of its factors.
TEST(Matmul, TheBitsAreTheSameInEveryOrientation) {
  for (const auto& [M, K, N] :
       {Shape3{300, 600, 130}, Shape3{64, 1100, 192}, Shape3{500, 700, 300}, Shape3{7, 40, 5}}) {
    const std::vector<float> a = normal(M * K, 1), b = normal(K * N, 2);
    std::vector<float> a_transposed(a.size()), b_transposed(b.size());
    for (int64_t k = 0; k < K; ++k) {
      for (int64_t i = 0; i < M; ++i)
        a_transposed[static_cast<size_t>(k * M + i)] = a[static_cast<size_t>(i * K + k)];
      for (int64_t j = 0; j < N; ++j)
        b_transposed[static_cast<size_t>(j * K + k)] = b[static_cast<size_t>(k * N + j)];
    }
    std::vector<std::vector<float>> results;
    for (const Matrix& x : {Matrix(a.data(), M, K), Matrix(a_transposed.data(), K, M).transposed()})
      for (const Matrix& y : {Matrix(b.data(), K, N), Matrix(b_transposed.data(), N, K).transposed()})
        matmul(x, y, results.emplace_back(static_cast<size_t>(M * N)).data(), N);
    for (const auto& result : results) EXPECT_EQ(result, results.front()) << M << " x " << K << " x " << N;
  }
}

// All sets but generic have fused multiply-adds; the SIMD width makes no difference.
TEST(Matmul, TheBitsAreTheSameOnEveryInstructionSetWithFusedMultiplyAdds) {
  const int64_t M = 130, K = 1100, N = 200;
  const std::vector<float> a = normal(M * K, 1), b = normal(K * N, 2);
  std::vector<std::vector<float>> results;
  for (const Kernels* const set : all_kernels()) {
    if (set->isa == "generic") continue;
    const UseKernels used(*set);
    for (const bool packed : {false, true}) {
      std::vector<float>& c = results.emplace_back(static_cast<size_t>(M * N));
      const Matrix left = Matrix(a.data(), K, M).transposed(), right(b.data(), K, N);
      packed ? matmul(left, PackedMatrix(right), c.data(), N) : matmul(left, right, c.data(), N);
    }
  }
  for (const auto& result : results) EXPECT_EQ(result, results.front());
}

TEST(Matmul, InsideAParallelRegionTheBitsAreTheSame) {
  const int64_t M = 70, K = 300, N = 90;
  const std::vector<float> a = normal(M * K, 1), b = normal(K * N, 2);
  std::vector<float> outside(static_cast<size_t>(M * N));
  matmul(Matrix(a.data(), M, K), Matrix(b.data(), K, N), outside.data(), N);
  std::vector<std::vector<float>> inside(4, std::vector<float>(outside.size()));
  parallel_for(4, [&](int64_t i) {
    matmul(Matrix(a.data(), M, K), Matrix(b.data(), K, N), inside[static_cast<size_t>(i)].data(), N);
  });
  for (const auto& result : inside) EXPECT_EQ(result, outside);
}

TEST(MatmulBatch, EveryProductEqualsASeparateCall) {
  const int64_t count = 5, M = 3, K = 4, N = 6;
  const std::vector<float> a = normal(count * M * K, 1), b = normal(K * N, 2);
  std::vector<float> c(static_cast<size_t>(count * M * N));
  matmul_batch({.count = count, .a_stride = M * K, .b_stride = 0, .c_stride = M * N}, Matrix(a.data(), M, K),
               Matrix(b.data(), K, N), c.data(), N);
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<float> part(c.begin() + i * M * N, c.begin() + (i + 1) * M * N);
    expect_product(Matrix(a.data() + i * M * K, M, K), Matrix(b.data(), K, N), part, part, N, {});
  }
}

TEST(PackedMatrix, CopiesShareTheirMemory) {
  const std::vector<float> b = normal(50 * 60, 1);
  const PackedMatrix packed(Matrix(b.data(), 50, 60)), copy = packed;
  EXPECT_EQ(&copy.form(), &packed.form());
  EXPECT_EQ(copy.rows(), 50);
  EXPECT_EQ(copy.columns(), 60);
  EXPECT_GE(copy.bytes(), 50 * 60 * 4);
  EXPECT_EQ(PackedMatrix().bytes(), 0);
}

// A matrix as bf16, and the same numbers as floats.
struct Rounded {
  std::vector<uint16_t> bf16;
  std::vector<float> f32;

  explicit Rounded(const std::vector<float>& from) {
    for (const float x : from) {
      bf16.push_back(bfloat16(x).bits);
      f32.push_back(static_cast<float>(bfloat16(x)));
    }
  }
};

TEST(PackedAsBf16, GivesTheBitsOfTheProductByTheSameFloatsOnEveryInstructionSet) {
  for (const Kernels* const set : all_kernels()) {
    const UseKernels used(*set);
    for (const auto& [M, K, N] : shapes) {
      const std::vector<float> a = normal(M * K, 1), bias = normal(N, 3);
      const Rounded b(normal(K * N, 2));
      for (bool transposed : {false, true})
        for (const MatmulOptions& options :
             {MatmulOptions{}, MatmulOptions{.bias = bias.data(), .accumulate = true},
              MatmulOptions{.bias = bias.data(), .relu = true}}) {
          const auto oriented = [&](auto wide) { return transposed ? wide.transposed() : wide; };
          const int64_t rows = transposed ? N : K, columns = transposed ? K : N, stride = N + 3;
          std::vector<float> expected = normal(M * stride, 4), got = expected;
          matmul({a.data(), M, K}, PackedMatrix(oriented(Matrix(b.f32.data(), rows, columns))), expected.data(),
                 stride, options);
          matmul({a.data(), M, K}, PackedMatrix(oriented(Bf16Matrix(b.bf16.data(), rows, columns))), got.data(),
                 stride, options);
          ASSERT_EQ(got, expected) << set->isa << ": " << M << " x " << K << " x " << N;
        }
    }
  }
}

TEST(PackedAsBf16, TheBitsOfARowDependNeitherOnOtherRowsNorOnThreads) {
  const int before = threads();
  for (const auto& [K, N] : {std::pair<int64_t, int64_t>{512, 200}, {2500, 70}, {33, 1}, {128, 65}}) {
    const int64_t max_rows = 100;
    const std::vector<float> a = normal(max_rows * K, 1);
    const Rounded b(normal(K * N, 2));
    const PackedMatrix packed(Bf16Matrix(b.bf16.data(), K, N));
    std::vector<float> all(static_cast<size_t>(max_rows * N)), some(all.size());
    set_threads(1);
    matmul({a.data(), max_rows, K}, packed, all.data(), N);
    for (int count : {1, 3})
      for (int64_t M : {1, 2, 5, 6, 7, 12, 49, 99})
        for (int64_t first : {int64_t{0}, (max_rows - M) / 2, max_rows - M}) {
          set_threads(count);
          matmul({a.data() + first * K, M, K}, packed, some.data(), N);
          ASSERT_TRUE(std::equal(some.begin(), some.begin() + M * N, all.begin() + first * N))
              << count << " threads, M " << M << ", K " << K << ", N " << N << ", from row " << first;
        }
  }
  set_threads(before);
}

TEST(PackedAsBf16, TakesHalfOfTheMemoryAndReturnsItsColumns) {
  const int64_t K = 70, N = 256;
  const Rounded b(normal(K * N, 1));
  const PackedMatrix floats(Matrix(b.f32.data(), K, N)), halves(Bf16Matrix(b.bf16.data(), K, N));
  EXPECT_EQ(floats.format(), WeightFormat::f32);
  EXPECT_EQ(halves.format(), WeightFormat::bf16);
  EXPECT_EQ(2 * halves.bytes(), floats.bytes());
  std::vector<float> expected(K), widened(K);
  for (int64_t n : {0, 1, 63, 64, 255}) {
    floats.copy_column(n, expected.data());
    halves.copy_column(n, widened.data());
    EXPECT_EQ(widened, expected) << n;
  }
}

// NaN and infinity appear only in the results whose formula contains them.
TEST(PackedMatmul, NaNStaysInItsRow) {
  const int64_t M = 9, K = 20, N = 70;
  std::vector<float> a = normal(M * K, 1), b = normal(K * N, 2), c(static_cast<size_t>(M * N));
  a[4 * K + 3] = NAN;
  matmul({a.data(), M, K}, PackedMatrix(Matrix(b.data(), K, N)), c.data(), N, {.relu = true});
  for (int64_t i = 0; i < M * N; ++i) EXPECT_EQ(std::isnan(c[static_cast<size_t>(i)]), i / N == 4);
}

}  // namespace qkv::kernel::matmul_test
