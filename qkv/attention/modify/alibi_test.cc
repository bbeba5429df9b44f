#include "qkv/attention/modify/alibi.h"

#include "qkv/attention/modify/modifier_test.h"
#include "qkv/base/error.h"

namespace qkv::alibi_test {

using namespace test;

TEST(Alibi, EqualsItsFormulaInEveryInputAndSlope) {
  const AttentionShape n{.B = 2, .H = 2, .G = 1, .T = 3, .S = 5, .D = 3, .E = 2};
  for (const bool is_causal : {false, true})
    check_op("alibi",
             {random_tensor({2, 2, 3, 3}, 1), random_tensor({2, 1, 5, 3}, 2), random_tensor({2, 1, 5, 2}, 3),
              random_tensor({2}, 4, 0.5)},
             [&](const Variables& x) {
               return attention(x[0], x[1], x[2],
                                {.modify = {alibi(x[3])}, .mask = is_causal ? causal() : MaskPtr()});
             },
             modified(n, is_causal,
                      [](const Doubles& x) {
                        return reference::alibi({{2}, x[3]});
                      }),
             {.value = 2e-6, .gradient = 1e-5, .strided = false});
}

TEST(Alibi, SumsTheGradientOfASlopeOverAllTiles) {
  uint64_t stream = 0;
  for (const AttentionShape& n : modifier_shapes())
    for (const bool is_causal : {false, true}) {
      const Variable slopes(with_gaps_between_elements(random_tensor({n.H}, ++stream, 0.05)),
                            {.requires_grad = true});
      check_modifier(n, alibi(slopes), reference::alibi(slopes),
                     {.is_causal = is_causal, .stream = stream += 10, .parameters = {slopes}});
    }
}

TEST(Alibi, TakesConstantSlopes) {
  const AttentionShape n{.B = 1, .H = 8, .G = 8, .T = 66, .S = 130, .D = 3, .E = 2};
  check_modifier(n, alibi(alibi_slopes(8)), reference::alibi(Tensor::from(alibi_slopes(8), {8})),
                 {.is_causal = true, .stream = 1});
}

TEST(Alibi, RejectsInvalidSlopes) {
  const Tensor q = Tensor::zeros({1, 2, 3, 4});
  EXPECT_EQ(error_of([&] { attention(q, q, q, {.modify = {alibi(alibi_slopes(3))}}); }),
            "alibi: 3 slopes for H 2 query heads");
  EXPECT_EQ(error_of([] { alibi(Tensor::zeros({2, 1})); }), "alibi: slopes must be f32 of shape (H), got (2, 1)");
  EXPECT_THROW(alibi(Variable()), Error);
}

TEST(AlibiSlopes, AreAGeometricSequenceForPowersOfTwo) {
  EXPECT_EQ(alibi_slopes(1), (std::vector<float>{1.0f / 256}));
  EXPECT_EQ(alibi_slopes(8),
            (std::vector<float>{0.5f, 0.25f, 0.125f, 0.0625f, 0.03125f, 0.015625f, 0.0078125f, 0.00390625f}));
}

TEST(AlibiSlopes, TakeEveryOtherOfTheNextPowerForTheRest) {
  const auto of_8 = [](double n) { return static_cast<float>(std::exp2(-n / 2)); };  // 2^(-8 n / 16)
  std::vector<float> wanted = alibi_slopes(8);
  for (const double n : {1, 3, 5, 7}) wanted.push_back(of_8(n));
  EXPECT_EQ(alibi_slopes(12), wanted);
  EXPECT_EQ(alibi_slopes(3), (std::vector<float>{0.0625f, 0.00390625f, 0.25f}));
  EXPECT_THROW(alibi_slopes(0), Error);
}

}  // namespace qkv::alibi_test
