#include "qkv/attention/reweigh/dropout.h"

#include "qkv/base/threads.h"
#include "qkv/test_support/check_attention.h"

namespace qkv::dropout_test {

using namespace test;

AttentionOptions with(const WeightDropout& dropout) { return {.reweigh = {weight_dropout(dropout)}}; }

// The factors of dropout, from equal weights: 0, or 1 / (1 - rate).
std::vector<double> factors(const WeightDropout& dropout, const AttentionShape& n) {
  const Tensor q = Tensor::zeros({n.B, n.H, n.T, 4}), k = Tensor::zeros({n.B, n.H, n.S, 4});
  std::vector<double> f = doubles(attention_with_weights(q, k, k, with(dropout)).weights);
  for (double& x : f) x *= static_cast<double>(n.S);
  return f;
}

TEST(WeightDropout, KeepsAboutItsShareAndScalesIt) {
  for (const double rate : {0.1, 0.5, 0.8}) {
    const std::vector<double> f =
        factors({.rate = rate, .seed = 1, .stream = 2}, {.B = 2, .H = 2, .T = 100, .S = 150});
    const auto n = static_cast<double>(f.size());
    const double dropped = static_cast<double>(std::count(f.begin(), f.end(), 0.0));
    EXPECT_NEAR(dropped, n * rate, 4 * std::sqrt(n * rate * (1 - rate))) << rate;
    for (const double x : f) ASSERT_TRUE(x == 0 || std::abs(x * (1 - rate) - 1) < 1e-4) << x;
  }
}

TEST(WeightDropout, DiffersBetweenSeedsStreamsBatchRowsAndHeads) {
  const AttentionShape n{.B = 2, .H = 2, .T = 64, .S = 64};
  const std::vector<double> f = factors({.rate = 0.5, .seed = 1, .stream = 2}, n);
  const auto disagree = [&](const std::vector<double>& a, size_t from_a, const std::vector<double>& b,
                            size_t from_b) {
    int64_t count = 0;
    for (size_t i = 0; i < 64 * 64; ++i) count += (a[from_a + i] == 0) != (b[from_b + i] == 0);
    return std::abs(static_cast<double>(count) - 2048) < 200;  // half of the pairs, within six standard deviations
  };
  for (size_t other = 1; other < 4; ++other) EXPECT_TRUE(disagree(f, 0, f, other * 64 * 64));
  EXPECT_TRUE(disagree(f, 0, factors({.rate = 0.5, .seed = 2, .stream = 2}, n), 0));
  EXPECT_TRUE(disagree(f, 0, factors({.rate = 0.5, .seed = 1, .stream = 3}, n), 0));
}

TEST(WeightDropout, DropsTheSameWeightsInTheBackward) {
  const AttentionShape n{.B = 1, .H = 2, .G = 1, .T = 70, .S = 150, .D = 8, .E = 5};
  const WeightDropout dropout{.rate = 0.3, .seed = 5, .stream = 6};
  const AttentionInputs x = random_inputs(n, 1);
  ReferenceCall wanted = x.reference();
  wanted.reweigh = {reference::factors({{n.B, n.H, n.T, n.S}, factors(dropout, n)})};
  expect_attention(x, with(dropout), wanted);
}

TEST(WeightDropout, DependsNeitherOnTheTileNorOnThreads) {
  const AttentionShape n{.B = 2, .H = 3, .G = 3, .T = 150, .S = 200, .D = 4, .E = 4};
  const ReweigherPtr reweigher = weight_dropout({.rate = 0.5, .seed = 7, .stream = 8});
  const QueryBlock block{&n, 1, 2, 64, 64, 64};
  std::vector<float> whole(64 * 128, 1.0f);
  reweigher->multiply({block, 30, 128}, whole.data());
  for (int64_t key = 0; key < 128; ++key) {
    std::vector<float> row(64, 1.0f);
    reweigher->multiply({block, 30 + key, 1}, row.data());
    EXPECT_TRUE(std::equal(row.begin(), row.end(), whole.begin() + key * 64)) << "key " << key;
  }
  const int before = threads();
  std::vector<double> first;
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    const std::vector<double> now =
        factors({.rate = 0.5, .seed = 7, .stream = 8}, {.B = 1, .H = 2, .T = 130, .S = 130});
    if (first.empty()) first = now;
    EXPECT_EQ(first, now) << count << " threads";
  }
  set_threads(before);
}

TEST(WeightDropout, RejectsARateOfOne) {
  EXPECT_EQ(error_of([] { weight_dropout({.rate = 1.0}); }), "weight_dropout: the rate must be in [0, 1), got 1");
}

}  // namespace qkv::dropout_test
