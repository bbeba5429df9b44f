// Products by quantised weights: exact sums of integers, the same bits on every instruction set.
#include "qkv/kernel/quantized_matrix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/random.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/tensor/half.h"

#ifdef QKV_TEST_AMX
namespace qkv::kernel::amx_in_software {
void multiply_int8(const Int8Product& product);
}
#endif

namespace qkv::kernel::quantized_matrix_test {

// Every instruction set that this CPU has, and AMX with its registers in memory.
std::vector<Kernels> all_sets() {
  std::vector<Kernels> out;
  for (const Kernels* set : all_kernels()) out.push_back(*set);
#ifdef QKV_TEST_AMX
  if (cpu_has("avx512_bf16")) {
    Kernels amx = *all_kernels().back();
    amx.isa = "amx_in_software";
    amx.quantized.multiply_int8 = amx_in_software::multiply_int8;
    out.push_back(amx);
  }
#endif
  return out;
}

std::vector<float> normal(int64_t n, uint64_t stream) {
  std::vector<float> out(static_cast<size_t>(n));
  Random random(7, stream);
  for (float& x : out) x = static_cast<float>(random.normal());
  return out;
}

std::vector<float> product(Matrix a, const PackedMatrix& b, MatmulOptions options = {}) {
  std::vector<float> c(static_cast<size_t>(a.rows * b.columns()), 0.5f);
  matmul(a, b, c.data(), b.columns(), options);
  return c;
}

// A row of activations as it is quantised: numbers, and a scale for each `depth` of them.
struct Quantized {
  std::vector<int> numbers;
  std::vector<float> scales;
  Quantized(const float* x, int64_t K, int64_t depth) {
    for (int64_t first = 0; first < K; first += depth) {
      const int64_t end = std::min(first + depth, K);
      float largest = 0;
      for (int64_t k = first; k < end; ++k) largest = std::max(largest, std::fabs(x[k]));
      scales.push_back(largest / 127.0f);
      const float factor = largest == 0 ? 0.0f : 127.0f / largest;
      for (int64_t k = first; k < end; ++k) numbers.push_back(static_cast<int>(std::lrint(x[k] * factor)));
    }
  }
};

TEST(Int8Matrix, IsExactSumsOfIntegersTimesTwoScales) {
  for (const auto [M, K, N] :
       {std::array<int64_t, 3>{1, 1, 1}, {3, 5, 17}, {9, 64, 33}, {70, 301, 40}, {2, 2048, 16}}) {
    const std::vector<float> a = normal(M * K, 1), w = normal(N * K, 2), bias = normal(N, 3);
    std::vector<float> expected;
    for (int64_t m = 0; m < M; ++m)
      for (int64_t n = 0; n < N; ++n) {
        const Quantized x(a.data() + m * K, K, K), y(w.data() + n * K, K, K);
        int64_t sum = 0;
        for (size_t k = 0; k < static_cast<size_t>(K); ++k) sum += x.numbers[k] * y.numbers[k];
        expected.push_back(static_cast<float>(sum) * y.scales[0] * x.scales[0] + bias[static_cast<size_t>(n)]);
      }
    for (const Kernels& set : all_sets()) {
      const UseKernels use(set);
      ASSERT_EQ(product({a.data(), M, K}, pack_int8({w.data(), N, K}), {.bias = bias.data()}), expected)
          << M << " " << K << " " << N << " on " << set.isa;
    }
  }
}

TEST(Int8Matrix, SaturatingPatternsAreExactOnEveryInstructionSet) {
  for (const Kernels& set : all_sets()) {
    const UseKernels use(set);
    for (const float sign : {1.0f, -1.0f}) {
      const int64_t K = 4096;
      const std::vector<float> a(K, sign), w(static_cast<size_t>(3 * K), 1.0f);
      const std::vector<float> got = product({a.data(), 1, K}, pack_int8({w.data(), 3, K}));
      for (const float y : got)
        EXPECT_EQ(y, static_cast<float>(127 * 127 * K) * (1 / 127.0f) * (1 / 127.0f) * sign) << set.isa;
    }
  }
}

TEST(Int8Matrix, AStoredRowMayHoldMinus128) {
  const int64_t K = 37;
  std::vector<uint8_t> row(static_cast<size_t>(K) + 4, 0x80);
  const float scale = 0.5f;
  std::memcpy(row.data() + K, &scale, 4);
  const std::vector<float> a(K, -2.0f);
  for (const Kernels& set : all_sets()) {
    const UseKernels use(set);
    const PackedMatrix packed = pack_int8_rows(row.data(), K + 4, 1, K);
    EXPECT_EQ(product({a.data(), 1, K}, packed)[0], static_cast<float>(128 * 127 * K) * 0.5f * (2.0f / 127.0f))
        << set.isa;
    std::vector<float> column(K);
    packed.copy_column(0, column.data());
    EXPECT_EQ(column, std::vector<float>(K, -64.0f));
  }
}

TEST(Int8Matrix, AZeroRowGivesTheBias) {
  const int64_t K = 40, N = 20;
  const std::vector<float> a(K, 0.0f), w = normal(N * K, 1), bias = normal(N, 2);
  EXPECT_EQ(product({a.data(), 1, K}, pack_int8({w.data(), N, K}), {.bias = bias.data()}), bias);
}

TEST(QuantizedMatrix, ARowWithANumberThatIsNotFiniteIsNaN) {
  const int64_t M = 12, K = 64, N = 20;
  const std::vector<float> w = normal(N * K, 2);
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    std::vector<float> a = normal(M * K, 1);
    a[5 * K + 7] = bad;
    for (const Kernels& set : all_sets()) {
      const UseKernels use(set);
      const std::vector<float> got = product({a.data(), M, K}, pack_int8({w.data(), N, K}));
      for (int64_t i = 0; i < M * N; ++i) EXPECT_EQ(std::isnan(got[static_cast<size_t>(i)]), i / N == 5) << set.isa;
    }
  }
}

// Blocks of random numbers in a layout, stored as BlockNumbers, and the floats that they stand for.
struct RandomBlocks {
  BlockLayout layout;
  StoredFormat format;
  int64_t N, K;
  std::vector<BlockNumbers> blocks;

  RandomBlocks(const BlockLayout& of, int64_t n, int64_t k)
      : layout(of),
        format{of.format,
               "",
               of.block,
               sizeof(BlockNumbers),
               nullptr,
               nullptr,
               [](const uint8_t* block, BlockNumbers& to) { std::memcpy(&to, block, sizeof(to)); }},
        N(n),
        K(k) {
    Random random(9, static_cast<uint64_t>(n + k));
    const auto below = [&](int bound) { return static_cast<int>(random.bits() % static_cast<uint32_t>(bound)); };
    for (int64_t i = 0; i < N * K / layout.block; ++i) {
      BlockNumbers block;
      block.d.store(static_cast<float>(random.normal()) * 0.01f);
      block.minimum.store(static_cast<float>(random.normal()) * 0.01f);
      for (int8_t& scale : block.scales) scale = static_cast<int8_t>(below(256) - 128);
      for (uint8_t& minimum : block.minimums) minimum = static_cast<uint8_t>(below(64));
      for (uint8_t& q : block.numbers) q = static_cast<uint8_t>(below(1 << (layout.low + layout.high)));
      blocks.push_back(block);
    }
  }
  PackedMatrix packed() const {
    const int64_t row = K / layout.block * int64_t{sizeof(BlockNumbers)};
    return pack_blocks(format, reinterpret_cast<const uint8_t*>(blocks.data()), row, N, K);
  }
  int number(int64_t n, int64_t k) const {  // q - zero
    const int q = block(n, k).numbers[k % layout.block];
    return layout.has_table ? iq4_nl_table[q] : q - layout.zero;
  }
  float scale(int64_t n, int64_t k) const {
    const float d = block(n, k).d.value();
    return layout.group_scales ? d * static_cast<float>(block(n, k).scales[k % layout.block / layout.group]) : d;
  }
  float minimum(int64_t n, int64_t k) const {
    if (!layout.has_minimum) return 0;
    const float m = block(n, k).minimum.value();
    return layout.group_scales ? m * static_cast<float>(block(n, k).minimums[k % layout.block / layout.group]) : m;
  }

 private:
  const BlockNumbers& block(int64_t n, int64_t k) const {
    return blocks[static_cast<size_t>((n * K + k) / layout.block)];
  }
};

// Sums of integers, in one chain over the groups.
void expect_exact_product(const std::vector<float>& a, int64_t M, const RandomBlocks& w) {
  const BlockLayout& layout = w.layout;
  const std::vector<float> got = product({a.data(), M, w.K}, w.packed());
  for (int64_t m = 0; m < M; ++m) {
    const Quantized x(a.data() + m * w.K, w.K, 32);
    for (int64_t n = 0; n < w.N; ++n) {
      float expected = 0;
      for (int64_t first = 0; first < w.K; first += layout.group) {
        int32_t sum = 0, x_sum = 0;
        for (int64_t k = first; k < first + layout.group; ++k) {
          const int i = x.numbers[static_cast<size_t>(k)];
          sum += i * w.number(n, k), x_sum += i;
        }
        const float x_scale = x.scales[static_cast<size_t>(first / 32)];
        expected = std::fma(static_cast<float>(sum) * w.scale(n, first), x_scale, expected);
        if (layout.has_minimum)
          expected = std::fma(-w.minimum(n, first), static_cast<float>(x_sum) * x_scale, expected);
      }
      ASSERT_EQ(got[static_cast<size_t>(m * w.N + n)], expected)
          << kernels().isa << ", " << layout.low << "+" << layout.high << " bits, group " << layout.group << ", K "
          << w.K << " at " << m << " " << n;
    }
  }
}

TEST(BlockMatrix, IsExactSumsOfIntegersInOneChainOverTheGroups) {
  for (const BlockLayout& layout : block_layouts)
    for (const auto [M, K, N] : {std::array<int64_t, 3>{1, 256, 1}, {3, 512, 17}, {13, 768, 40}})
      expect_exact_product(normal(M * K, 1), M, RandomBlocks(layout, N, K));
}

// Units of 32 numbers are quantised several at a time, each with a scale of its own.
TEST(BlockMatrix, UnitsOfZerosAndOfAnyMagnitudeAreExact) {
  const int64_t M = 5, K = 1280;
  std::vector<float> a = normal(M * K, 1);
  for (int64_t unit = 0; unit < M * K / 32; ++unit)
    for (int64_t i = 0; i < 32; ++i) {
      float& x = a[static_cast<size_t>(unit * 32 + i)];
      x = unit % 7 == 3 ? 0.0f : std::ldexp(x, static_cast<int>(unit % 40 - 20));
    }
  for (const BlockLayout& layout : block_layouts)
    for (const Kernels& set : all_sets()) {
      const UseKernels use(set);
      expect_exact_product(a, M, RandomBlocks(layout, 19, K));
    }
}

TEST(BlockMatrix, ARowWithANumberThatIsNotFiniteIsNaN) {
  const int64_t M = 9, K = 1280, N = 20;
  for (const BlockLayout& layout :
       {block_layouts[0], block_layouts[2], block_layouts[std::size(block_layouts) - 1]}) {
    const PackedMatrix w = RandomBlocks(layout, N, K).packed();
    for (const float bad : {NAN, INFINITY, -INFINITY})
      for (const int64_t at : {7, 700, 1279}) {
        std::vector<float> a = normal(M * K, 1);
        a[static_cast<size_t>(5 * K + at)] = bad;
        for (const Kernels& set : all_sets()) {
          const UseKernels use(set);
          const std::vector<float> got = product({a.data(), M, K}, w);
          for (int64_t i = 0; i < M * N; ++i)
            EXPECT_EQ(std::isnan(got[static_cast<size_t>(i)]), i / N == 5) << set.isa << ", " << at;
        }
      }
  }
}

TEST(BlockMatrix, SaturatingPatternsAreExactOnEveryInstructionSet) {
  const int64_t K = 512, N = 17;
  for (const BlockLayout& layout : block_layouts) {
    RandomBlocks w(layout, N, K);
    for (const int q : {(1 << (layout.low + layout.high)) - 1, 0}) {
      for (BlockNumbers& block : w.blocks) std::fill_n(block.numbers, layout.block, static_cast<uint8_t>(q));
      for (const Kernels& set : all_sets()) {
        const UseKernels use(set);
        for (const float sign : {1.0f, -1.0f})
          for (const int64_t M : {1, 13})
            expect_exact_product(std::vector<float>(static_cast<size_t>(M * K), sign), M, w);
      }
    }
  }
}

TEST(BlockMatrix, CopiesItsColumnsAsFloats) {
  for (const BlockLayout& layout : block_layouts) {
    const RandomBlocks w(layout, 19, 512);
    const PackedMatrix packed = w.packed();
    std::vector<float> column(512);
    for (const int64_t n : {0, 7, 15, 16, 18}) {
      packed.copy_column(n, column.data());
      for (int64_t k = 0; k < 512; ++k)
        ASSERT_EQ(column[static_cast<size_t>(k)],
                  w.scale(n, k) * static_cast<float>(w.number(n, k)) - w.minimum(n, k));
    }
  }
}

TEST(BlockMatrix, TakesLittleMoreMemoryThanItsBits) {
  for (const BlockLayout& layout : block_layouts) {
    const RandomBlocks w(layout, 32, 512);
    const double bits = static_cast<double>(w.packed().bytes()) * 8 / (32 * 512);
    EXPECT_LE(bits, layout.low + layout.high + 1.13);
  }
}

TEST(QuantizedMatrix, NoBitDependsOnTheInstructionSetNeighborsOrThreads) {
  const int64_t M = 150, K = 768, N = 200;
  const std::vector<float> a = normal(M * K, 1), weights = normal(N * K, 2), bias = normal(N, 3);
  std::vector<PackedMatrix> matrices = {pack_int8({weights.data(), N, K})};
  for (const BlockLayout& layout : block_layouts) matrices.push_back(RandomBlocks(layout, N, K).packed());
  const MatmulOptions options = {.bias = bias.data(), .relu = true};
  const int before = threads();
  for (const PackedMatrix& w : matrices) {
    const std::vector<float> expected = product({a.data(), M, K}, w, options);
    for (const Kernels& set : all_sets()) {
      const UseKernels use(set);
      ASSERT_EQ(product({a.data(), M, K}, w, options), expected) << set.isa;
    }
    for (const int count : {1, 3}) {
      set_threads(count);
      ASSERT_EQ(product({a.data(), M, K}, w, options), expected) << count << " threads";
    }
    set_threads(before);
    for (const auto [first, rows] : {std::array<int64_t, 2>{0, 1}, {5, 2}, {8, 3}, {20, 4}, {33, 7}, {140, 10}}) {
      const std::vector<float> some = product({a.data() + first * K, rows, K}, w, options);
      ASSERT_EQ(std::memcmp(some.data(), expected.data() + first * N, some.size() * sizeof(float)), 0) << first;
    }
  }
  set_threads(before);
}

TEST(QuantizedMatrix, AddsToTheResultAndReadsATransposedFactor) {
  const int64_t M = 38, K = 96, N = 21;
  const std::vector<float> a = normal(M * K, 1), weights = normal(N * K, 2);
  std::vector<float> transposed(a.size());
  for (int64_t m = 0; m < M; ++m)
    for (int64_t k = 0; k < K; ++k) transposed[static_cast<size_t>(k * M + m)] = a[static_cast<size_t>(m * K + k)];
  for (const PackedMatrix& w : {pack_int8({weights.data(), N, K}), RandomBlocks(block_layouts[1], N, K).packed()}) {
    std::vector<float> expected = product({a.data(), M, K}, w);
    EXPECT_EQ(product(Matrix(transposed.data(), K, M).transposed(), w), expected);
    for (float& y : expected) y += 0.5f;
    EXPECT_EQ(product({a.data(), M, K}, w, {.accumulate = true}), expected);
  }
}

}  // namespace qkv::kernel::quantized_matrix_test
