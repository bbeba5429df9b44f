#include "qkv/train/touched_blocks.h"

#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/random.h"
#include "qkv/base/run_ranks.h"
#include "qkv/test_support/tensors.h"
#include "qkv/train/gradient_exchange.h"

namespace qkv::touched_blocks_test {

constexpr int64_t count = 100'003;

// Rows of 64 numbers, of which a rank has touched one in `step`.
Tensor rows_of(int rank, int64_t step) {
  Random random(1, static_cast<uint64_t>(rank));
  Tensor x = Tensor::zeros({count});
  for (int64_t row = rank; row < count / 64; row += step)
    for (int64_t i = 0; i < 64; ++i) x.data<float>()[64 * row + i] = static_cast<float>(random.normal());
  x.data<float>()[count - 1] = rank == 1 ? -0.0f : 0.0f;
  return x;
}

TEST(TouchedBlocks, AnExchangeOfThemHasTheBitsOfAnExchangeOfAll) {
  for (const int64_t step : {100, 7, 1, 1'000'000})
    run_ranks(3, [&](Communicator& c) {
      Tensor all = rows_of(c.rank(), step), x = all.clone();
      all_reduce(c, all, GradientFormat::f32);
      const int64_t before = c.bytes_sent();
      const TouchedBlocks touched(c, x);
      EXPECT_EQ(touched.are_most(), step <= 7);
      Tensor packed = touched.pack(x);
      all_reduce(c, packed, GradientFormat::f32);
      touched.unpack(packed, x);
      EXPECT_TRUE(test::same_bits(x, all)) << step;
      const double dense = 8.0 * count * 2 / 3;  // bytes, roughly of every rank
      if (step == 100) {
        EXPECT_LT(static_cast<double>(c.bytes_sent() - before), 0.2 * dense);
      }
    });
}

TEST(TouchedBlocks, ARangeIsARangeOfThePackedNumbers) {
  run_ranks(2, [](Communicator& c) {
    const Tensor x = rows_of(c.rank(), 50);
    const TouchedBlocks touched(c, x);
    ASSERT_FALSE(touched.are_most());
    const Tensor packed = touched.pack(x);
    EXPECT_EQ(touched.packed({0, count}).end, packed.numel());
    int64_t at = 0;
    for (int64_t begin = 0; begin < count; begin += 777) {
      const Shard range = {begin, std::min(begin + 777, count)}, part = touched.packed(range);
      EXPECT_EQ(part.begin, at);
      at = part.end;
      double sum = 0, sum_packed = 0;
      for (int64_t i = range.begin; i < range.end; ++i) sum += std::fabs(x.at<float>({i}));
      for (int64_t i = part.begin; i < part.end; ++i) sum_packed += std::fabs(packed.at<float>({i}));
      EXPECT_EQ(sum, sum_packed);
    }
    EXPECT_EQ(at, packed.numel());
  });
}

}  // namespace qkv::touched_blocks_test
