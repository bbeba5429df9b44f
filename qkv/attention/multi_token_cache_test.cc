#include "qkv/attention/multi_token_cache.h"

#include <gtest/gtest.h>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/window.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::multi_token_cache_test {

using namespace test;

MultiTokenOptions options_for(int64_t H) {
  return {.pre_conv = random_tensor({H, 1, 6, 11}, 1, 0.5),
          .pre_mix = random_tensor({H, H}, 2, 0.5),
          .post_conv = random_tensor({H, 1, 3, 5}, 3, 0.5),
          .post_head = random_tensor({H / 2, 2, 2}, 4, 0.5),
          .mask = causal()};
}

struct Sequence {
  explicit Sequence(DType dtype = DType::f32)
      : q(random_tensor({2, 4, 90, 8}, 11).to(dtype)),
        k(random_tensor({2, 2, 90, 8}, 12).to(dtype)),
        v(random_tensor({2, 2, 90, 5}, 13).to(dtype)) {}
  Tensor q, k, v;
  Tensor attend(MultiTokenCache& cache, int64_t begin, int64_t end) const {
    return cache.attend(q.slice(2, begin, end), k.slice(2, begin, end), v.slice(2, begin, end));
  }
};

TEST(MultiTokenCache, StepByStepGivesTheBitsOfTheFullPass) {
  const Sequence x;
  for (const MaskPtr& mask : {causal(), causal() & window(20, 0)}) {
    MultiTokenOptions options = options_for(4);
    options.mask = mask;
    const Tensor full = multi_token_attention(x.q, x.k, x.v, options).value();
    MultiTokenCache one(options), some(options);
    for (int64_t t = 0; t < 90; ++t)
      EXPECT_TRUE(same_bits(x.attend(one, t, t + 1), full.slice(2, t, t + 1))) << "position " << t;
    for (int64_t begin = 0, end = 4; begin < 90; begin = end, end = std::min<int64_t>(90, 2 * end + 1))
      EXPECT_TRUE(same_bits(x.attend(some, begin, end), full.slice(2, begin, end))) << begin << " to " << end;
    EXPECT_EQ(one.length(), 90);
  }
}

TEST(MultiTokenCache, TakesBf16) {
  const Sequence x(DType::bf16);
  const Tensor full = multi_token_attention(x.q, x.k, x.v, options_for(4)).value();
  MultiTokenCache cache(options_for(4));
  for (int64_t begin = 0, end = 60; begin < 90; begin = end, ++end) {
    const Tensor y = x.attend(cache, begin, end);
    ASSERT_EQ(y.dtype(), DType::bf16);
    ASSERT_TRUE(same_bits(y.to(DType::f32), full.slice(2, begin, end).to(DType::f32))) << begin;
  }
}

TEST(MultiTokenCache, ReorderedRowsContinueTheirSource) {
  const Sequence x;
  MultiTokenCache cache(options_for(4));
  x.attend(cache, 0, 40);
  cache.reorder(std::vector<int64_t>{1, 1, 0});
  const auto rows = [](const Tensor& y) {  // as reordered
    return gather_rows(y, std::vector<int64_t>{1, 1, 0});
  };
  const Tensor next =
      cache.attend(rows(x.q.slice(2, 40, 41)), rows(x.k.slice(2, 40, 41)), rows(x.v.slice(2, 40, 41)));
  MultiTokenCache plain(options_for(4));
  x.attend(plain, 0, 40);
  EXPECT_TRUE(same_bits(next, rows(x.attend(plain, 40, 41))));
}

TEST(MultiTokenCache, RejectsOtherShapesAndTypes) {
  MultiTokenCache cache(options_for(4));
  const Tensor q = Tensor::zeros({1, 4, 1, 8}), k = Tensor::zeros({1, 2, 1, 8});
  cache.attend(q, k, k);
  EXPECT_EQ(error_of([&] {
              cache.attend(Tensor::zeros({2, 4, 1, 8}), Tensor::zeros({2, 2, 1, 8}), k);
            }),
            "MultiTokenCache: q f32 (2, 4, 1, 8) does not continue queries f32 (1, 4, 1, 8)");
  EXPECT_EQ(error_of([&] { cache.attend(q.to(DType::bf16), k.to(DType::bf16), k.to(DType::bf16)); }),
            "MultiTokenCache: q bf16 (1, 4, 1, 8) does not continue queries f32 (1, 4, 1, 8)");
  EXPECT_EQ(
      error_of([&] { cache.attend(q, k.to(DType::bf16), k); }),
      "MultiTokenCache: expected q (B,H,t,D) and k (B,G,t,D) of one type; q is f32 (1, 4, 1, 8), k is bf16 (1, "
      "2, 1, 8)");
  EXPECT_EQ(cache.length(), 1);
  EXPECT_EQ(error_of([] { MultiTokenCache({.history = 3}); }),
            "MultiTokenCache: options.history must be 0, the cache sets it; it is 3");
}

}  // namespace qkv::multi_token_cache_test
