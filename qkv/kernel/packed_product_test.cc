// Several products of the same rows in one call: the bits of each alone, whatever the formats.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/random.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/matmul.h"
#include "qkv/kernel/quantized_matrix.h"

namespace qkv::kernel::packed_product_test {

std::vector<float> normal(int64_t n, uint64_t stream) {
  std::vector<float> out(static_cast<size_t>(n));
  Random random(7, stream);
  for (float& x : out) x = static_cast<float>(random.normal());
  return out;
}

// Rows of blocks of a stored format, of random numbers.
PackedMatrix blocks_of(WeightFormat format, int64_t N, int64_t K) {
  const StoredFormat& stored = stored_format(format);
  const std::vector<float> numbers = normal(N * K, static_cast<uint64_t>(N));
  const int64_t bytes = row_bytes(format, K);
  std::vector<uint8_t> rows(static_cast<size_t>(N * bytes));
  for (int64_t n = 0; n < N; ++n)
    EXPECT_TRUE(encode_row(stored, numbers.data() + n * K, K, rows.data() + n * bytes));
  return pack_blocks(stored, rows.data(), bytes, N, K);
}

// Weights of every form, more than run at a time, with the same K.
struct Weights {
  std::vector<std::vector<float>> memory;
  std::vector<PackedMatrix> matrices;

  Weights(int64_t K, int64_t scale) {
    const auto numbers = [&](int64_t N) -> const float* {
      return memory.emplace_back(normal(N * K, static_cast<uint64_t>(N))).data();
    };
    const int64_t a = 17 * scale, b = 40 * scale, c = 3;
    matrices = {pack_int8({numbers(a), a, K}),
                pack_int8({numbers(b), b, K}),
                PackedMatrix(Matrix(numbers(b), b, K).transposed()),
                blocks_of(WeightFormat::q4_k, a, K),
                blocks_of(WeightFormat::q6_k, c, K),
                blocks_of(WeightFormat::q8_0, b, K),
                pack_int8({numbers(c), c, K}),
                PackedMatrix::in_place(Matrix(numbers(a), a, K), nullptr),
                PackedMatrix(Matrix(numbers(c), c, K).transposed())};
  }
};

// Every column of every row comes once, those of a part in order.
TEST(PackedProducts, InBlocksHaveTheBitsOfTheWhole) {
  const int64_t K = 256;
  for (const auto [M, N] : {std::array<int64_t, 2>{1, 1000}, {70, 512}, {600, 1030}, {5, 3}}) {
    const std::vector<float> a = normal(M * K, 1), w = normal(N * K, 2), bias = normal(N, 3);
    const Matrix weight(w.data(), N, K);
    for (const PackedMatrix& b :
         {PackedMatrix(weight.transposed()), pack_int8(weight), PackedMatrix::in_place(weight, nullptr),
          PackedMatrix::rounded(weight.transposed()), blocks_of(WeightFormat::q4_k, N, K)}) {
      std::vector<float> whole(static_cast<size_t>(M * N)), blocks(whole.size(), NAN);
      const MatmulOptions options = {.bias = bias.data()};
      matmul({a.data(), M, K}, b, whole.data(), N, options);
      constexpr int parts = 2;
      std::vector<int64_t> ends(parts);
      matmul_in_blocks({a.data(), M, K}, b, options, parts, [&](const ProductBlock& block) {
        for (int64_t r = 0; r < block.rows; ++r)
          std::copy_n(block.c + r * block.c_row_stride, block.columns,
                      blocks.data() + (block.first_row + r) * N + block.first_column);
        EXPECT_EQ(block.first_column % block_columns, 0);
        if (block.first_row % 512 != 0) return;
        int64_t& end = ends[static_cast<size_t>(block.part)];
        if (block.first_row > 0 && block.first_column < end) end = 0;
        EXPECT_GE(block.first_column, end);
        end = block.first_column + block.columns;
      });
      EXPECT_EQ(blocks, whole) << M << " " << N << " " << static_cast<int>(b.format());
    }
  }
}

TEST(PackedProducts, OfTheSameRowsHaveTheBitsOfEachAlone) {
  const int64_t K = 512;
  const int before = threads();
  for (const auto [M, scale] : {std::array<int64_t, 2>{1, 1}, {1, 40}, {3, 1}, {9, 5}, {70, 2}, {600, 1}}) {
    const Weights held(K, scale);
    const std::vector<PackedMatrix>& weights = held.matrices;
    const std::vector<float> a = normal(M * K, 1), bias = normal(1000 * scale, 2);
    for (const int count : {1, 3}) {
      set_threads(count);
      std::vector<std::vector<float>> together, alone;
      for (const PackedMatrix& w : weights) {
        alone.emplace_back(static_cast<size_t>(M * w.columns()), 0.5f);
        together.emplace_back(alone.back());
      }
      std::vector<Product> products;
      for (size_t i = 0; i < weights.size(); ++i) {
        const MatmulOptions options = {
            .bias = i % 2 ? bias.data() : nullptr, .accumulate = i % 3 == 0, .relu = i == 1};
        products.push_back({weights[i], together[i].data(), weights[i].columns(), options});
        matmul({a.data(), M, K}, weights[i], alone[i].data(), weights[i].columns(), options);
      }
      matmul({a.data(), M, K}, products);
      for (size_t i = 0; i < weights.size(); ++i) ASSERT_EQ(together[i], alone[i]) << M << " rows, weight " << i;
    }
  }
  set_threads(before);
}

TEST(PackedProducts, OfNoRowsNoTermsOrNoColumnsAreEmpty) {
  const std::vector<float> x(64, 1.0f), bias = {1.0f, -2.0f};
  std::vector<float> c = {5.0f, 5.0f};
  const PackedMatrix w(Matrix(x.data(), 8, 2)), no_columns(Matrix(x.data(), 8, 0));
  const Product two[] = {{w, c.data(), 2}, {w, c.data(), 2}};
  matmul({x.data(), 0, 8}, two);
  matmul({x.data(), 1, 8}, std::span<const Product>());
  const Product none[] = {{no_columns, c.data(), 2}};
  matmul({x.data(), 1, 8}, none);
  EXPECT_EQ(c, (std::vector<float>{5.0f, 5.0f}));
  const Product no_terms[] = {
      {PackedMatrix(Matrix(x.data(), 0, 2)), c.data(), 2, {.bias = bias.data(), .relu = true}}};
  matmul({x.data(), 1, 0}, no_terms);
  EXPECT_EQ(c, (std::vector<float>{1.0f, 0.0f}));
}

}  // namespace qkv::kernel::packed_product_test
