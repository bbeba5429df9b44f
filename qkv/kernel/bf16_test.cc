// Products of bf16, on every instruction set that has them, compared with double precision.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/random.h"
#include "qkv/kernel/kernels.h"
#include "qkv/tensor/dtype.h"

namespace qkv::kernel {

#ifdef QKV_TEST_AMX
namespace amx_in_software {
const Bf16Kernels& bf16_kernels();
}
#endif

namespace {

struct Set {
  std::string_view isa;
  int lanes;
  const Bf16Kernels* bf16;
};

std::vector<Set> sets() {
  std::vector<Set> out;
  for (const Kernels* k : all_kernels())
    if (k->attention.bf16) out.push_back({k->isa, k->lanes, k->attention.bf16});
#ifdef QKV_TEST_AMX
  if (cpu_has("avx512_bf16")) out.push_back({"amx_in_software", 16, &amx_in_software::bf16_kernels()});
#endif
  return out;
}

std::vector<bfloat16> random_bf16(int64_t n, uint64_t stream) {
  Random random(31, stream);
  std::vector<bfloat16> x(static_cast<size_t>(n));
  for (bfloat16& v : x) v = bfloat16(static_cast<float>(random.normal()));
  return x;
}
double value(bfloat16 x) { return static_cast<double>(static_cast<float>(x)); }

enum class Kind { overwrite, add, rescale, with_bias };

// C (rows x width) from A (rows x 2 depth) and B (2 depth x width), A read along rows or along columns.
void check_product(const Set& set, int64_t rows, int64_t width, int64_t depth, bool along_rows, Kind kind) {
  SCOPED_TRACE(testing::Message() << set.isa << ": " << rows << " x " << width << ", depth " << depth
                                  << (along_rows ? ", rows" : ", columns") << ", kind " << static_cast<int>(kind));
  const std::vector<bfloat16> a = random_bf16(2 * rows * depth, 1), b = random_bf16(2 * depth * width, 2);
  const auto a_at = [&](int64_t m, int64_t k) {
    return value(a[static_cast<size_t>(along_rows ? m * 2 * depth + k : (k / 2 * rows + m) * 2 + k % 2)]);
  };
  const auto b_at = [&](int64_t k, int64_t n) {
    return value(b[static_cast<size_t>((k / 2 * width + n) * 2 + k % 2)]);
  };
  std::vector<float> c(static_cast<size_t>(rows * width)), factor(static_cast<size_t>(width));
  Random random(32, 0);
  for (float& x : c) x = static_cast<float>(random.normal());
  for (float& x : factor) x = static_cast<float>(random.uniform());
  const std::vector<float> before = c;
  const float scale = kind == Kind::overwrite ? 0.3f : 1.0f;
  const TileProduct product = {.a = reinterpret_cast<const float*>(a.data()),
                               .a_row_stride = along_rows ? depth : 1,
                               .a_column_stride = along_rows ? 1 : rows,
                               .b = reinterpret_cast<const float*>(b.data()),
                               .b_row_stride = width,
                               .c = c.data(),
                               .c_row_stride = width,
                               .rows = rows,
                               .width = width,
                               .depth = depth,
                               .scale = scale,
                               .bias = kind == Kind::with_bias ? factor.data() : nullptr};
  set.bf16->begin();
  switch (kind) {
    case Kind::overwrite:
    case Kind::with_bias: set.bf16->products.overwrite(product); break;
    case Kind::add: set.bf16->products.add(product); break;
    case Kind::rescale: set.bf16->products.rescale(product, factor.data()); break;
  }
  set.bf16->end();
  double worst = 0;
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t n = 0; n < width; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < 2 * depth; ++k) sum += a_at(m, k) * b_at(k, n);
      const auto at = static_cast<size_t>(m * width + n);
      double wanted = scale * sum;
      if (kind == Kind::add) wanted += before[at];
      if (kind == Kind::with_bias) wanted += factor[static_cast<size_t>(n)];
      if (kind == Kind::rescale) wanted += before[at] * factor[static_cast<size_t>(n)];
      worst = std::max(worst, std::abs(c[at] - wanted));
    }
  }
  EXPECT_LE(worst, 4e-7 * static_cast<double>(2 * depth));
}

TEST(Bf16Kernels, MultiplyEveryShapeAndKind) {
  if (sets().empty()) GTEST_SKIP() << "this CPU has no bf16 products";
  for (const Set& set : sets())
    for (const Kind kind : {Kind::overwrite, Kind::add, Kind::rescale, Kind::with_bias})
      for (const bool along_rows : {true, false})
        for (const int64_t vectors : {1, 2, 3, 4, 5})
          for (const auto& [rows, depth] : std::vector<std::pair<int64_t, int64_t>>{
                   {1, 1}, {5, 16}, {16, 7}, {17, 33}, {31, 20}, {32, 32}, {40, 64}, {65, 3}, {128, 32}})
            check_product(set, rows, vectors * set.lanes, depth, along_rows, kind);
}

TEST(Bf16Kernels, InterleavesRowsAndPadsWithZeros) {
  if (sets().empty()) GTEST_SKIP() << "this CPU has no bf16 products";
  const int64_t rows = 5, columns = 19, stride = 23, width = 32;
  const std::vector<bfloat16> in = random_bf16(rows * stride, 3);
  for (const Set& set : sets()) {
    std::vector<uint16_t> out(static_cast<size_t>((rows + 1) / 2 * width * 2), 0xffff);
    set.bf16->interleave(reinterpret_cast<const uint16_t*>(in.data()), stride, rows, columns,
                         reinterpret_cast<float*>(out.data()), width);
    for (int64_t r = 0; r < rows + 1; ++r)
      for (int64_t c = 0; c < width; ++c)
        EXPECT_EQ(out[static_cast<size_t>((r / 2 * width + c) * 2 + r % 2)],
                  r < rows && c < columns ? in[static_cast<size_t>(r * stride + c)].bits : 0);
  }
}

TEST(Bf16Kernels, RoundsToTheNearest) {
  if (sets().empty()) GTEST_SKIP() << "this CPU has no bf16 products";
  const int64_t rows = 19, columns = 27, stride = 32, width = 48;
  Random random(33, 0);
  std::vector<float> in(static_cast<size_t>(rows * stride));
  for (float& x : in) x = static_cast<float>(random.normal());
  for (const Set& set : sets()) {
    std::vector<uint16_t> plain(in.size() + 8, 7), interleaved(static_cast<size_t>((rows + 1) * width), 0xffff);
    set.bf16->round(in.data(), rows * stride - 5, plain.data());
    set.bf16->interleave_rounded(in.data(), stride, rows, columns, reinterpret_cast<float*>(interleaved.data()),
                                 width);
    for (int64_t i = 0; i < rows * stride - 5; ++i)
      EXPECT_EQ(plain[static_cast<size_t>(i)], bfloat16(in[static_cast<size_t>(i)]).bits);
    EXPECT_EQ(plain[static_cast<size_t>(rows * stride - 5)], 7);  // nothing is written past the end
    for (int64_t r = 0; r < rows + 1; ++r)
      for (int64_t c = 0; c < width; ++c)
        EXPECT_EQ(interleaved[static_cast<size_t>((r / 2 * width + c) * 2 + r % 2)],
                  r < rows && c < columns ? bfloat16(in[static_cast<size_t>(r * stride + c)]).bits : 0);
  }
}

}  // namespace
}  // namespace qkv::kernel
