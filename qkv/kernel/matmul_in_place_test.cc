#include <algorithm>
#include <bit>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/random.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/matmul.h"

namespace qkv::kernel::matmul_in_place_test {

std::vector<float> normal(int64_t n, uint64_t stream) {
  std::vector<float> out(static_cast<size_t>(n));
  Random random(7, stream);
  for (float& x : out) x = static_cast<float>(random.normal());
  return out;
}

// Rows of the weight are `stride` apart, so that those of bf16 may be at any even address.
template <class Element>
struct WeightAt {
  std::vector<Element> numbers;
  MatrixOf<Element> matrix;
  WeightAt(int64_t N, int64_t K, int64_t stride)
      : numbers(static_cast<size_t>(N * stride + 1)), matrix(nullptr, 0, 0) {
    Random random(7, 2);
    for (Element& x : numbers) {
      if constexpr (sizeof(Element) == 4)
        x = static_cast<float>(random.normal());
      else
        x = static_cast<uint16_t>(0x3c00 + (random.bits() & 0x81ff));
    }
    matrix = MatrixOf<Element>(numbers.data() + 1, N, K, stride, 1);
  }
  PackedMatrix packed() const { return PackedMatrix(matrix.transposed()); }
  PackedMatrix in_place() const { return PackedMatrix::in_place(matrix, nullptr); }
};

float as_float(float x) { return x; }
float as_float(uint16_t x) { return std::bit_cast<float>(uint32_t{x} << 16); }

template <class Element>
class MatmulInPlace : public testing::Test {};
using Elements = testing::Types<float, uint16_t>;
TYPED_TEST_SUITE(MatmulInPlace, Elements);

struct Case {
  int64_t K, N, stride;
};
const Case cases[] = {{1, 1, 1},       {5, 3, 7},        {33, 65, 33}, {64, 16, 64},
                      {128, 130, 131}, {2100, 66, 2100}, {70, 530, 70}};

TYPED_TEST(MatmulInPlace, HasTheBitsOfThePackedProductForAnyNumberOfRows) {
  for (const auto& [K, N, stride] : cases) {
    const WeightAt<TypeParam> w(N, K, stride);
    const PackedMatrix packed = w.packed(), placed = w.in_place();
    EXPECT_EQ(placed.format(), packed.format());
    EXPECT_EQ(placed.rows(), K);
    EXPECT_EQ(placed.columns(), N);
    EXPECT_EQ(placed.bytes(), 0);
    const int64_t max_rows = 200, c_stride = N + 3;
    const std::vector<float> a = normal(max_rows * K, 1), bias = normal(N, 3);
    const std::vector<float> before = normal(max_rows * c_stride, 4);
    for (const MatmulOptions& options :
         {MatmulOptions{}, MatmulOptions{.bias = bias.data()}, MatmulOptions{.accumulate = true},
          MatmulOptions{.bias = bias.data(), .relu = true}})
      for (const int64_t M : {1, 2, 3, 4, 5, 7, 8, 9, 13, 193, 200}) {
        std::vector<float> expected = before, got = before;
        matmul({a.data(), M, K}, packed, expected.data(), c_stride, options);
        matmul({a.data(), M, K}, placed, got.data(), c_stride, options);
        ASSERT_EQ(got, expected) << "M " << M << ", K " << K << ", N " << N;
      }
  }
}

TYPED_TEST(MatmulInPlace, ReadsATransposedFactor) {
  const int64_t M = 6, K = 40, N = 70;
  const WeightAt<TypeParam> w(N, K, K);
  const std::vector<float> a = normal(M * K, 1);
  std::vector<float> expected(static_cast<size_t>(M * N)), got = expected;
  matmul(Matrix(a.data(), K, M).transposed(), w.packed(), expected.data(), N);
  matmul(Matrix(a.data(), K, M).transposed(), w.in_place(), got.data(), N);
  EXPECT_EQ(got, expected);
}

TYPED_TEST(MatmulInPlace, NoBitDependsOnTheNumberOfThreads) {
  const int before = threads();
  const int64_t K = 300, N = 700;
  const WeightAt<TypeParam> w(N, K, K);
  for (const int64_t M : {1, 5, 40, 300}) {
    const std::vector<float> a = normal(M * K, 1);
    std::vector<std::vector<float>> results;
    for (const int count : {1, 2, 3}) {
      set_threads(count);
      matmul({a.data(), M, K}, w.in_place(), results.emplace_back(static_cast<size_t>(M * N)).data(), N);
    }
    EXPECT_EQ(results[1], results[0]) << M;
    EXPECT_EQ(results[2], results[0]) << M;
  }
  set_threads(before);
}

TYPED_TEST(MatmulInPlace, CopiesColumnsAsTheyWere) {
  const WeightAt<TypeParam> w(5, 33, 37);
  for (int64_t n = 0; n < 5; ++n) {
    std::vector<float> floats(33), expected(33);
    w.in_place().copy_column(n, floats.data());
    w.packed().copy_column(n, expected.data());
    EXPECT_EQ(floats, expected);
    EXPECT_EQ(floats[0], as_float(w.matrix.data[n * 37]));
  }
}

}  // namespace qkv::kernel::matmul_in_place_test
