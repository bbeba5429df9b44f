#include "qkv/decode/top_tokens.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/decode/overflow.h"
#include "qkv/test_support/tensors.h"

namespace qkv::top_tokens_test {

using namespace test;

TEST(TopTokens, EqualsASortOfDoubles) {
  const int64_t R = 5, V = 777;
  for (const float spread : {0.1f, 3.0f, 100.0f}) {
    const Tensor x = random_tensor({R, V}, 3, spread);
    const TopTokens top = top_tokens(x, 6, {.eos = 2, .suppress_tokens = {0, 1}});
    for (int64_t r = 0; r < R; ++r) {
      const float* row = x.data<float>() + r * V;
      const double largest = *std::max_element(row, row + V);
      double sum = 0;
      for (int64_t v = 0; v < V; ++v) sum += std::exp(row[v] - largest);
      const auto log_p = [&](int64_t v) { return row[v] - largest - std::log(sum); };
      std::vector<int32_t> ids(static_cast<size_t>(V) - 3);
      std::iota(ids.begin(), ids.end(), 3);
      std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) { return row[a] > row[b]; });
      ASSERT_EQ(top.row(r).size(), 6u);
      for (size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(top.row(r)[i].id, ids[i]);
        EXPECT_NEAR(top.row(r)[i].log_probability, log_p(ids[i]), 1e-5 * (1 + spread));
      }
      EXPECT_NEAR(top.eos(r), log_p(2), 1e-5 * (1 + spread));
    }
  }
}

TEST(TopTokens, EqualLogitsAreSortedById) {
  Tensor x = Tensor::full({1, 200}, 1.0f);
  x.data<float>()[150] = x.data<float>()[70] = 2.0f;
  const TopTokens top = top_tokens(x, 5, {.eos = 4, .suppress_tokens = {0}});
  const int32_t expected[] = {70, 150, 1, 2, 3};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(top.row(0)[i].id, expected[i]);
}

TEST(TopTokens, LeavesOutSuppressedTokensAndMinusInfinity) {
  Tensor x = Tensor::from({5.0f, 4.0f, 9.0f, 1.0f, -std::numeric_limits<float>::infinity(), 3.0f}, {1, 6});
  const TopTokens top = top_tokens(x, 10, {.eos = 2, .suppress_tokens = {0}});
  ASSERT_EQ(top.row(0).size(), 3u);
  EXPECT_EQ(top.row(0)[0].id, 1);
  EXPECT_EQ(top.row(0)[1].id, 5);
  EXPECT_EQ(top.row(0)[2].id, 3);
}

TEST(TopTokens, LogProbabilitiesOfUnlikelyAndCertainEosAreAccurate) {
  const Tensor x = Tensor::from({0.0f, 0.0f, -80.0f, 0.0f, 0.0f, 80.0f}, {2, 3});
  const TopTokens top = top_tokens(x, 1, {.eos = 2});
  EXPECT_NEAR(top.eos(0), -80.0 - std::log(2.0), 1e-5);
  EXPECT_NEAR(top.eos(1), 0.0, 1e-6);
  EXPECT_NEAR(top.row(1)[0].log_probability, -80.0, 1e-5);
}

TEST(TopTokens, ARowIsTheSameAloneAndOnAnyNumberOfThreads) {
  const int before = threads();
  const Tensor x = random_tensor({64, 501}, 3, 2.0);
  set_threads(1);
  const TopTokens one = top_tokens(x, 4, {});
  set_threads(2);
  const TopTokens two = top_tokens(x, 4, {});
  const TopTokens alone = top_tokens(x.slice(0, 40, 41), 4, {});
  set_threads(before);
  for (int64_t r = 0; r < 64; ++r)
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(one.row(r)[i].id, two.row(r)[i].id);
      EXPECT_EQ(one.row(r)[i].log_probability, two.row(r)[i].log_probability);
    }
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(one.row(40)[i].log_probability, alone.row(0)[i].log_probability);
  EXPECT_EQ(one.eos(40), alone.eos(0));
}

TEST(TopTokens, ASmallerLogitIsLessLikelyAlsoAfterRounding) {
  // log p is about -10, where floats are further apart than these two logits.
  Tensor logits = Tensor::zeros({1, 20000});
  float* x = logits.data<float>();
  x[7] = 1e-7f;
  x[2] = 0.5e-7f;  // eos
  for (const bool normalized : {true, false}) {
    const TopTokens top = top_tokens(logits, 1, {.eos = 2, .normalized = normalized});
    EXPECT_EQ(top.row(0)[0].id, 7);
    EXPECT_LT(top.eos(0), top.row(0)[0].log_probability);
    EXPECT_NEAR(top.eos(0), normalized ? -std::log(20000.0) : 0.0, 1e-5);
  }
}

TEST(TopTokens, WithoutEosEveryTokenIsACandidate) {
  Tensor x = Tensor::zeros({1, 4});
  x.data<float>()[2] = 1;
  const TopTokens top = top_tokens(x, 4, {.eos = -1});
  ASSERT_EQ(top.row(0).size(), 4u);
  EXPECT_EQ(top.row(0)[0].id, 2);
  EXPECT_NEAR(top.row(0)[0].log_probability, 1 - std::log(std::exp(1.0) + 3), 1e-6);
  EXPECT_EQ(top.eos(0), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(top_tokens(x, 1, {.eos = -1, .suppress_tokens = {0, 1, 2, 3}}).row(0).empty());
}

TEST(TopTokens, OfBlocksInTwoPartsAreThoseOfTheWhole) {
  const int64_t R = 3, V = 2000;
  Tensor x = random_tensor({R, V}, 3, 3.0f);
  for (const int64_t v : {3, 600, 1999}) x.data<float>()[v] = 20.0f;  // equal ones in several blocks
  const TopTokensOptions options = {
      .eos = 1500, .suppress_tokens = {600}, .extra_in_rows = {{5, 1030}, {}, {1999}}};
  for (const int64_t count : {1, 5}) {
    const TopTokens whole = top_tokens(x, count, options);
    TopTokensScan scan;
    scan.start(R, V, count, options, 2);
    for (const int64_t first : {1024, 1536, 0, 512})  // the second part before the first one
      scan.read({.part = first >= 1024,
                 .first_row = 0,
                 .rows = R,
                 .first_column = first,
                 .columns = std::min<int64_t>(512, V - first),
                 .c = x.data<float>() + first,
                 .c_row_stride = V});
    const TopTokens top = scan.finish();
    const auto expect_equal = [](std::span<const TokenChoice> a, std::span<const TokenChoice> b) {
      ASSERT_EQ(a.size(), b.size());
      for (size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(a[i].id, b[i].id);
        EXPECT_EQ(a[i].log_probability, b[i].log_probability);
      }
    };
    for (int64_t r = 0; r < R; ++r) {
      expect_equal(top.row(r), whole.row(r));
      expect_equal(top.extra(r), whole.extra(r));
      EXPECT_EQ(top.eos(r), whole.eos(r));
    }
    EXPECT_EQ(whole.row(0)[0].id, 3);
    EXPECT_EQ(whole.extra(0).size(), 2u);
  }
}

TEST(TopTokens, ErrorsNameTheArgument) {
  Tensor x = Tensor::zeros({2, 4});
  EXPECT_THROW(top_tokens(x, 0, {}), Error);
  EXPECT_THROW(top_tokens(x, 1, {.eos = 4}), Error);
  EXPECT_THROW(top_tokens(Tensor::zeros({4}), 1, {}), Error);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    x.data<float>()[5] = bad;
    for (const bool normalized : {true, false}) {
      try {
        top_tokens(x, 1, {.normalized = normalized});
        FAIL();
      } catch (const Overflow& e) {
        EXPECT_STREQ(e.what(), "top_tokens: row 1 of the logits holds +infinity or NaN");
      }
    }
  }
}

}  // namespace qkv::top_tokens_test
