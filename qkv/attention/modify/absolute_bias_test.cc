#include "qkv/attention/modify/absolute_bias.h"

#include "qkv/attention/modify/bias.h"
#include "qkv/attention/modify/modifier_test.h"
#include "qkv/base/error.h"

namespace qkv::absolute_bias_test {

using namespace test;

TEST(AbsoluteBias, EqualsItsFormulaInEveryInputAndNumber) {
  for (const auto& [T, S] : {std::pair<int64_t, int64_t>{3, 5}, {5, 3}})  // some queries are before position 0
    for (const int64_t N : {1, 3, 4, 9}) {
      const AttentionShape n{.B = 2, .H = 2, .G = 1, .T = T, .S = S, .D = 3, .E = 2};
      check_op("absolute_bias",
               {random_tensor({2, 2, T, 3}, 1), random_tensor({2, 1, S, 3}, 2), random_tensor({2, 1, S, 2}, 3),
                random_tensor({2, N, N}, 4)},
               [&](const Variables& x) {
                 return attention(x[0], x[1], x[2], {.modify = {absolute_bias(x[3])}, .mask = causal()});
               },
               modified(n, true,
                        [&](const Doubles& x) {
                          return reference::absolute_bias({{2, N, N}, x[3]});
                        }),
               {.value = 2e-6, .gradient = 1e-5, .strided = false});
    }
}

TEST(AbsoluteBias, SumsItsGradientOverAllTilesAndRows) {
  uint64_t stream = 0;
  for (const AttentionShape& n : modifier_shapes())
    for (const int64_t N : {20, 70, 130, 400})
      for (const bool is_causal : {false, true}) {
        const Variable table(random_tensor({n.H, N, N}, ++stream), {.requires_grad = true});
        check_modifier(
            n, absolute_bias(table), reference::absolute_bias(table),
            {.is_causal = is_causal, .stream = stream += 10, .parameters = {table}, .parameter_gradient = 1e-4});
      }
}

TEST(AbsoluteBias, IsABiasThatEndsWithItsTable) {
  const Tensor q = random_tensor({2, 2, 90, 4}, 1), table = random_tensor({2, 70, 70}, 2);
  Tensor padded = Tensor::zeros({1, 2, 90, 90});
  padded.slice(2, 0, 70).slice(3, 0, 70).copy_from(table.reshape({1, 2, 70, 70}));
  EXPECT_TRUE(same_bits(attention(q, q, q, {.modify = {absolute_bias(table)}}),
                        attention(q, q, q, {.modify = {bias(padded)}})));
}

TEST(AbsoluteBias, ReadsNumbersOfAnyStrides) {
  const Tensor q = random_tensor({2, 2, 70, 4}, 1), k = random_tensor({2, 1, 140, 4}, 2),
               packed = random_tensor({2, 100, 100}, 3);
  const auto of = [&](const Tensor& table) { return attention(q, k, k, {.modify = {absolute_bias(table)}}); };
  const Tensor wanted = of(packed);
  EXPECT_TRUE(same_bits(of(with_transposed_memory(packed, 1, 2)), wanted)) << "contiguous queries";
  EXPECT_TRUE(same_bits(of(with_transposed_memory(packed, 0, 1)), wanted)) << "heads inside";
  EXPECT_TRUE(same_bits(of(with_gaps_between_elements(packed)), wanted)) << "nothing contiguous";
}

TEST(AbsoluteBias, HasANameAndRejectsOtherShapes) {
  EXPECT_EQ(absolute_bias(Tensor::zeros({2, 6, 6}))->name(), "absolute_bias(6 positions)");
  const Tensor q = Tensor::zeros({1, 2, 3, 4});
  EXPECT_EQ(error_of([&] {
              attention(q, q, q, {.modify = {absolute_bias(Tensor::zeros({3, 6, 6}))}});
            }),
            "absolute_bias: the table is (H 3, N 6, N 6) for H 2 query heads");
  EXPECT_EQ(error_of([] {
              absolute_bias(Tensor::zeros({2, 6, 5}));
            }),
            "absolute_bias: the table must be f32 of shape (H, N, N), got (2, 6, 5)");
  EXPECT_THROW(absolute_bias(Variable()), Error);
}

}  // namespace qkv::absolute_bias_test
