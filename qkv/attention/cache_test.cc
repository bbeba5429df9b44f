#include "qkv/attention/cache.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/window.h"
#include "qkv/attention/modify/softcap.h"
#include "qkv/attention/score/cosine.h"
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

class KeyValueCacheIn : public testing::TestWithParam<CacheFormat> {
 protected:
  // Of 3 rows with 150 positions, more than a tile has, and widths that are not whole vectors.
  KeyValueCache filled() const {
    KeyValueCache cache(GetParam());
    cache.append(k_.slice(2, 0, 149), v_.slice(2, 0, 149));
    cache.append(k_.slice(2, 149, 150), v_.slice(2, 149, 150));
    return cache;
  }

  Tensor k_ = random_tensor({3, 2, 150, 20}, 1), v_ = random_tensor({3, 2, 150, 34}, 2);
};

TEST_P(KeyValueCacheIn, NumbersAreRoundedToTheFormat) {
  const KeyValueCache cache = filled();
  const Tensor k = cache.keys().to(DType::f32).contiguous_copy();
  EXPECT_EQ(k.shape(), k_.shape());
  for (int64_t row = 0; row < k.numel(); row += 20) {
    float largest = 0;
    for (int64_t d = row; d < row + 20; ++d) largest = std::max(largest, std::abs(k_.data<float>()[d]));
    for (int64_t d = row; d < row + 20; ++d) {
      const float exact = k_.data<float>()[d];
      const float bound = GetParam() == CacheFormat::f32    ? 0.0f
                          : GetParam() == CacheFormat::bf16 ? std::abs(exact) * 0x1p-8f
                                                            : largest / 253;
      EXPECT_LE(std::abs(k.data<float>()[d] - exact), bound);
    }
  }
}

TEST_P(KeyValueCacheIn, AttentionIsThatOfTheStoredNumbers) {
  const KeyValueCache cache = filled();
  const Tensor k = cache.keys().to(DType::f32), v = cache.values().to(DType::f32);
  for (const int64_t T : {1, 3}) {
    const Tensor q = random_tensor({3, 6, T, 20}, 3);
    for (const bool single_queries : {false, true}) {
      const AttentionOptions options = {
          .modify = {softcap(5)}, .mask = window(100), .single_queries = single_queries};
      const Tensor expected = attention(q, k, v, options), y = attention(q, cache, options);
      ASSERT_EQ(y.dtype(), DType::f32);
      if (GetParam() == CacheFormat::int8)
        expect_close(y, doubles(expected), 1e-6, "y");
      else
        EXPECT_TRUE(same_bits(y, expected));
    }
    const AttentionOptions cosines = {.score = cosine(3)};  // which divides keys by their norms
    EXPECT_TRUE(same_bits(attention(q, cache, cosines), attention(q, k, v, cosines)));
    const Tensor half = q.to(DType::bf16);
    EXPECT_EQ(attention(half, cache).dtype(), DType::bf16);
    expect_close(attention(half, cache).to(DType::f32), doubles(attention(half.to(DType::f32), k, v)), 0x1p-6,
                 "bf16");
  }
}

TEST_P(KeyValueCacheIn, RowsDoNotDependOnTheBatch) {
  KeyValueCache all = filled(), one(GetParam());
  one.append(k_.slice(0, 1, 2), v_.slice(0, 1, 2));
  const Tensor q = random_tensor({3, 6, 1, 20}, 3);
  EXPECT_TRUE(same_bits(attention(q.slice(0, 1, 2), one), attention(q, all).slice(0, 1, 2)));
  all.reorder(std::vector<int64_t>{1, 1, 2});
  EXPECT_TRUE(same_bits(all.keys().slice(0, 0, 1), one.keys()));
  EXPECT_TRUE(same_bits(all.values().slice(0, 0, 1), one.values()));
}

TEST_P(KeyValueCacheIn, ValuesThatAreNotFiniteStayVisible) {
  v_.data<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  const Tensor y = attention(random_tensor({3, 6, 1, 20}, 3), filled());
  EXPECT_TRUE(std::isnan(y.at<float>({0, 0, 0, 5})));
  EXPECT_FALSE(std::isnan(y.at<float>({0, 3, 0, 5}))) << "the other key head";
  EXPECT_FALSE(std::isnan(y.at<float>({1, 0, 0, 5})));
}

TEST_P(KeyValueCacheIn, TruncatedItContinuesAsIfItHadEndedThere) {
  KeyValueCache cache = filled(), expected(GetParam());
  const auto part = [](const Tensor& x, int64_t begin, int64_t end) { return x.slice(2, begin, end); };
  const int64_t S = k_.dim(2);
  expected.append(part(k_, 0, 3), part(v_, 0, 3));
  expected.append(part(k_, S - 2, S), part(v_, S - 2, S));
  cache.truncate(3);
  EXPECT_EQ(cache.length(), 3);
  cache.append(part(k_, S - 2, S), part(v_, S - 2, S));
  EXPECT_TRUE(same_bits(cache.keys(), expected.keys()));
  EXPECT_TRUE(same_bits(cache.values(), expected.values()));
  EXPECT_THROW(cache.truncate(6), Error);
  EXPECT_THROW(cache.truncate(-1), Error);
}

INSTANTIATE_TEST_SUITE_P(Formats, KeyValueCacheIn,
                         testing::Values(CacheFormat::f32, CacheFormat::bf16, CacheFormat::int8),
                         [](const auto& format) { return std::string(name_of(format.param)); });

TEST(KeyValueCache, HasMemoryForAQuarterMoreAtMostAndGrowsSeldom) {
  KeyValueCache cache;
  const Tensor prompt = random_tensor({1, 1, 1000, 4}, 1), one = random_tensor({1, 1, 1, 4}, 2);
  cache.append(prompt, prompt);
  int growths = 0;
  for (int64_t length = 1000; length < 3000; ++length) {
    const int64_t before = cache.keys().stride(1);
    EXPECT_LE(before, length * 4 * 5 / 4);
    cache.append(one, one);
    growths += cache.keys().stride(1) != before;
  }
  EXPECT_LE(growths, 5);
  EXPECT_TRUE(same_bits(cache.keys().slice(2, 0, 1000), prompt));
}

TEST(KeyValueCache, GivesMemoryBackWhenMostOfItIsCutOff) {
  KeyValueCache cache;
  const Tensor k = random_tensor({1, 1, 1000, 4}, 1);
  cache.append(k, k);
  cache.truncate(100);
  EXPECT_LT(cache.keys().stride(1), 250 * 4) << "positions that there is memory for";
  EXPECT_TRUE(same_bits(cache.keys(), k.slice(2, 0, 100)));
}

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
