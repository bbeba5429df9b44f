#include "qkv/kernel/row_test.h"

namespace qkv::kernel::additive_test {

// Scores of 32 queries and 7 keys, of features of the size `spread` with weights of one sign, and what the formula gives.
struct Scores {
  Row computed;
  Doubles expected;
};
Scores scores(const AttentionKernels& k, int64_t features, double spread) {
  constexpr int64_t keys = 7, queries = 32;
  Row q = Row::normal(features * queries, 1, spread), key = Row::normal(keys * features, 2, spread),
      w = Row::normal(features, 3), s(keys * queries);
  for (float& x : w) x = std::abs(x);
  const AdditiveTile tile = {q.data(), queries, queries, key.data(), features, keys, w.data(), features};
  std::vector<float> memory(static_cast<size_t>(k.additive_memory(tile)));
  k.additive(tile, s.data(), memory.data());
  Doubles expected(static_cast<size_t>(keys * queries));
  for (int64_t j = 0; j < keys; ++j)
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t f = 0; f < features; ++f)
        expected[static_cast<size_t>(j * queries + i)] +=
            w[f] * std::tanh(double{q[f * queries + i]} + double{key[j * features + f]});
  return {std::move(s), std::move(expected)};
}

TEST(AdditiveScores, EqualTheFormulaForEveryNumberOfFeatures) {
  for (const Kernels* k : all_kernels())
    for (const int64_t features : {1, 2, 3, 8, 31})
      for (const double spread : {1.0, 15.0}) {  // of the second some are too large for the fast path
        auto [computed, expected] = scores(k->attention, features, spread);
        expect_close(computed, expected, 5e-7, std::string(k->isa));
      }
}

// The sum of the weights is 30 times the largest score here: what is subtracted from it must not be as large.
TEST(AdditiveScores, KeepTheirDigitsWhereManyTanhAreSmall) {
  for (const Kernels* k : all_kernels()) {
    auto [computed, expected] = scores(k->attention, 256, 0.1);
    expect_close(computed, expected, 2.5e-6, std::string(k->isa));
  }
}

}  // namespace qkv::kernel::additive_test
