#include "qkv/attention/score/location.h"

#include "qkv/attention/packed.h"
#include "qkv/attention/score/score_calls_test.h"

namespace qkv::location_test {

using namespace test;

TEST(Location, EqualsItsFormulaWithFewerRowsAndWithMore) {
  for (const int64_t rows : {1, 3, 4, 9})
    for (const ScoreCall& call : score_calls(5, 2)) {
      const std::vector<Tensor> x = call.inputs();
      check_op(
          "location", {x[0], x[2], random_tensor({rows, call.n.D}, 4)},
          [&](const Variables& y) {
            return attention(y[0], Variable(x[1]), y[1], {.score = location(y[2]), .mask = call.mask()});
          },
          [&](const Doubles& y) {
            const MakeScore score = [&](const Doubles&) { return reference::location({{rows, call.n.D}, y[2]}); };
            return call.formula(score)({y[0], doubles(x[1]), y[1]});
          },
          {.value = 3e-6, .gradient = 1e-5, .strided = false});
    }
}

TEST(Location, DoesNotReadTheKeys) {
  const Tensor q = random_tensor({2, 2, 3, 4}, 1), v = random_tensor({2, 1, 6, 5}, 2), w = random_tensor({8, 4}, 3);
  EXPECT_TRUE(same_bits(attention(q, v, v, {.score = location(w)}),
                        attention(q, random_tensor({2, 1, 6, 1}, 4), v, {.score = location(w)})));
}

TEST(Location, MasksKeysAfterTheLastRow) {
  const Tensor q = random_tensor({1, 2, 70, 4}, 1), v = random_tensor({1, 2, 300, 3}, 2),
               w = random_tensor({131, 4}, 3);
  const auto cut = [&](int64_t keys) { return v.slice(2, 0, keys).clone(); };
  const auto all = attention_with_weights(q, v, v, {.score = location(w)}),
             few = attention_with_weights(q, cut(131), cut(131), {.score = location(w)});
  EXPECT_TRUE(same_bits(all.out, few.out));
  EXPECT_TRUE(same_bits(all.weights.slice(3, 0, 131), few.weights));
  for (const double x : doubles(all.weights.slice(3, 131, 300))) ASSERT_EQ(x, 0.0);
}

TEST(Location, RejectsOtherWidthsAndPackedSequences) {
  const Tensor q = Tensor::zeros({1, 1, 2, 3}), packed = Tensor::zeros({2, 1, 3});
  const Tensor w = Tensor::zeros({5, 4});
  EXPECT_EQ(error_of([&] { attention(q, q, q, {.score = location(w)}); }),
            "location: w (rows, Dq) is (5, 4) for Dq 3");
  EXPECT_EQ(
      error_of([&] {
        attention_packed(packed, packed, packed, {0, 2}, {0, 2}, {.score = location(w)});
      }),
      "attention_packed: location(w) depends on the positions of keys, so it cannot take packed sequences: call "
      "attention() for each");
}

}  // namespace qkv::location_test
