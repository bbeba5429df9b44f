#include "qkv/attention/modify/bias.h"

#include "qkv/attention/modify/modifier_test.h"
#include "qkv/base/error.h"

namespace qkv::bias_test {

using namespace test;

// The shape of a bias for a call; bit a of `ones`: axis a has length 1.
Shape bias_shape(const AttentionShape& n, int ones) {
  const int64_t full[4] = {n.B, n.H, n.T, n.S};
  Shape shape;
  for (int axis = 0; axis < 4; ++axis) shape.push_back(ones >> axis & 1 ? 1 : full[axis]);
  return shape;
}

TEST(Bias, EqualsItsFormulaInEveryInputAndNumber) {
  const AttentionShape n{.B = 2, .H = 2, .G = 1, .T = 3, .S = 4, .D = 3, .E = 2};
  for (int ones = 0; ones < 16; ++ones)
    check_op(
        "bias",
        {random_tensor({2, 2, 3, 3}, 1), random_tensor({2, 1, 4, 3}, 2), random_tensor({2, 1, 4, 2}, 3),
         random_tensor(bias_shape(n, ones), 4)},
        [&](const Variables& x) { return attention(x[0], x[1], x[2], {.modify = {bias(x[3])}, .mask = causal()}); },
        modified(n, true,
                 [&](const Doubles& x) {
                   return reference::bias({bias_shape(n, ones), x[3]});
                 }),
        {.value = 2e-6, .gradient = 1e-5, .strided = false});
}

// (Summed over all keys of a query the gradient is zero: what remains is the rounding of hundreds of terms.)
TEST(Bias, SumsItsGradientOverAllTilesAndBroadcastAxes) {
  uint64_t stream = 0;
  for (const AttentionShape& n : modifier_shapes())
    for (int ones = 0; ones < 16; ++ones) {
      const Variable numbers(random_tensor(bias_shape(n, ones), ++stream), {.requires_grad = true});
      check_modifier(n, bias(numbers), reference::bias(numbers),
                     {.is_causal = ones % 3 == 0,
                      .stream = stream += 10,
                      .parameters = {numbers},
                      .parameter_gradient = 1e-4});
    }
}

TEST(Bias, ReadsNumbersOfAnyStrides) {
  const Tensor q = random_tensor({2, 2, 70, 4}, 1), k = random_tensor({2, 1, 140, 4}, 2),
               packed = random_tensor({2, 2, 70, 140}, 3);
  const auto of = [&](const Tensor& numbers) { return attention(q, k, k, {.modify = {bias(numbers)}}); };
  const Tensor wanted = of(packed);
  EXPECT_TRUE(same_bits(of(with_transposed_memory(packed, 2, 3)), wanted)) << "contiguous queries";
  EXPECT_TRUE(same_bits(of(with_transposed_memory(packed, 0, 3)), wanted)) << "contiguous batch rows";
  EXPECT_TRUE(same_bits(of(with_gaps_between_elements(packed)), wanted)) << "nothing contiguous";
  const Tensor one = packed.slice(0, 0, 1).slice(2, 0, 1);
  EXPECT_TRUE(same_bits(of(one), of(one.expand({2, 2, 70, 140})))) << "an expanded view";
}

TEST(Bias, MinusInfinityMasksThePair) {
  const AttentionShape n{.B = 1, .H = 2, .G = 1, .T = 70, .S = 140, .D = 4, .E = 3};
  Tensor numbers = random_tensor({1, 2, 70, 140}, 1);
  for (int64_t i = 0; i < 70; ++i)  // query 5 sees no key, the others not every third
    for (int64_t j = 0; j < 140; ++j)
      for (int64_t h = 0; h < 2; ++h)
        if (i == 5 || (i + j) % 3 == 0) numbers.data<float>()[(h * 70 + i) * 140 + j] = -INFINITY;
  const Variable x(numbers, {.requires_grad = true});
  const AttentionInputs y = random_inputs(n, 10);
  ReferenceCall wanted = y.reference();
  wanted.modify = {reference::bias(numbers)};
  expect_attention(y, {.modify = {bias(x)}}, wanted, {.parameters = {x}});
  for (int64_t i = 0; i < 2 * 70 * 140; ++i)
    ASSERT_TRUE(!std::isinf(numbers.data<float>()[i]) || x.grad().data<float>()[i] == 0) << i;
  const Tensor out = attention(y.q, y.k, y.v, {.modify = {bias(x)}}).value();
  for (int64_t e = 0; e < 3; ++e) EXPECT_EQ(out.at<float>({0, 1, 5, e}), 0.0f);
  for (int64_t d = 0; d < 4; ++d) EXPECT_EQ(y.q.grad().at<float>({0, 1, 5, d}), 0.0f);
}

TEST(Bias, RejectsOtherShapes) {
  const Tensor q = Tensor::zeros({2, 2, 3, 4});
  EXPECT_EQ(error_of([&] {
              attention(q, q, q, {.modify = {bias(Tensor::zeros({1, 2, 4, 3}))}});
            }),
            "bias: the bias is (B 1, H 2, T 4, S 3); each axis must be 1 or as in (B 2, H 2, T 3, S 3)");
  EXPECT_EQ(error_of([] {
              bias(Tensor::zeros({3, 3}));
            }),
            "bias: the bias must be f32 of shape (B, H, T, S), got (3, 3)");
  EXPECT_THROW(bias(Tensor::zeros({1, 1, 3, 3}, DType::u8)), Error);
}

}  // namespace qkv::bias_test
