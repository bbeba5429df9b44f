#include "qkv/attention/cache.h"

#include <gtest/gtest.h>

#include "qkv/attention/attention.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::cache_test {

using namespace test;

class KeyValueCacheOf : public testing::TestWithParam<DType> {
 protected:
  Tensor draw(const Shape& shape, uint64_t stream) const { return random_tensor(shape, stream).to(GetParam()); }
};

TEST_P(KeyValueCacheOf, HoldsTheKeysAndValuesOfAllSteps) {
  const Tensor k = draw({2, 3, 50, 4}, 1), v = draw({2, 3, 50, 6}, 2), q = draw({2, 3, 1, 4}, 3);
  KeyValueCache cache;
  for (int64_t begin = 0, end = 7; begin < 50;
       begin = end, end = std::min<int64_t>(50, end + 1)) {  // prefill, steps
    cache.append(k.slice(2, begin, end), v.slice(2, begin, end));
    ASSERT_EQ(cache.length(), end);
    ASSERT_TRUE(same_bits(cache.keys(), k.slice(2, 0, end)) && same_bits(cache.values(), v.slice(2, 0, end)))
        << end;
  }
  const Tensor y = attention(q, cache.keys(), cache.values());
  EXPECT_TRUE(same_bits(y, attention(q, k, v)));
}

TEST_P(KeyValueCacheOf, ReorderedRowsContinueTheirSource) {
  const Tensor k = draw({2, 1, 5, 4}, 1), v = draw({2, 1, 5, 6}, 2);
  const std::vector<int64_t> source = {1, 1, 0};
  KeyValueCache cache;
  cache.append(k.slice(2, 0, 4), v.slice(2, 0, 4));
  cache.reorder(source);
  cache.append(gather_rows(k.slice(2, 4, 5), source), gather_rows(v.slice(2, 4, 5), source));
  EXPECT_TRUE(same_bits(cache.keys(), gather_rows(k, source)));
  EXPECT_TRUE(same_bits(cache.values(), gather_rows(v, source)));
}

// The first and the last keep all rows that are copied; the middle one needs row 0 and replaces it.
TEST_P(KeyValueCacheOf, RowsReorderedInPlaceAreThoseOfACopy) {
  const Tensor k = draw({5, 2, 3, 4}, 1), v = draw({5, 2, 3, 6}, 2);
  for (const std::vector<int64_t>& source :
       {std::vector<int64_t>{0, 0, 2, 2, 4}, {1, 0, 0, 3, 4}, {3, 3, 3, 3, 4}}) {
    KeyValueCache cache;
    cache.append(k.slice(2, 0, 2), v.slice(2, 0, 2));
    cache.append(k.slice(2, 2, 3), v.slice(2, 2, 3));
    const KeyValueCache before = cache;
    cache.reorder(source);  // of memory that `before` shares
    cache.reorder(source);  // of its own memory
    const Tensor k_twice = gather_rows(gather_rows(k, source), source);
    EXPECT_TRUE(same_bits(cache.keys(), k_twice));
    EXPECT_TRUE(same_bits(cache.values(), gather_rows(gather_rows(v, source), source)));
    EXPECT_TRUE(same_bits(before.keys(), k) && same_bits(before.values(), v));
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, KeyValueCacheOf, testing::Values(DType::f32, DType::bf16),
                         [](const auto& dtype) { return std::string(name_of(dtype.param)); });

TEST(KeyValueCache, RejectsOtherShapesAndTypes) {
  const Tensor k = Tensor::zeros({2, 1, 1, 4}), bf16 = Tensor::zeros({2, 1, 1, 4}, DType::bf16);
  KeyValueCache cache;
  EXPECT_EQ(
      error_of([&] { cache.append(k, bf16); }),
      "KeyValueCache: expected k (B,G,t,D) and v (B,G,t,E), both f32 or both bf16; k is f32 (2, 1, 1, 4), v is "
      "bf16 (2, 1, 1, 4)");
  cache.append(k, k);
  EXPECT_EQ(error_of([&] { cache.append(bf16, bf16); }),
            "KeyValueCache: k bf16 (2, 1, 1, 4) and v bf16 (2, 1, 1, 4) do not continue keys f32 (2, 1, 1, 4) and "
            "values f32 (2, 1, 1, 4)");
  EXPECT_EQ(error_of([&] {
              cache.append(k, Tensor::zeros({3, 1, 1, 4}));
            }),
            "KeyValueCache: k f32 (2, 1, 1, 4) and v f32 (3, 1, 1, 4) do not continue keys f32 (2, 1, 1, 4) and "
            "values f32 (2, 1, 1, 4)");
  EXPECT_EQ(cache.length(), 1);
}

}  // namespace qkv::cache_test
