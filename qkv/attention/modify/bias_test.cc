#include "qkv/attention/modify/bias.h"

#include "qkv/attention/modify/plain_attention_test.h"
#include "qkv/base/error.h"

namespace qkv {
namespace {

using namespace test;

// The shape of a bias for a call; bit a of `ones`: axis a has length 1.
Shape bias_shape(const AttentionShape& n, int ones) {
  const int64_t full[4] = {n.B, n.H, n.T, n.S};
  Shape shape;
  for (int axis = 0; axis < 4; ++axis) shape.push_back(ones >> axis & 1 ? 1 : full[axis]);
  return shape;
}
int64_t index_in(const Shape& shape, int64_t b, int64_t h, int64_t i, int64_t j) {
  const int64_t at[4] = {b, h, i, j};
  int64_t index = 0;
  for (int axis = 0; axis < 4; ++axis) index = index * shape[axis] + (shape[axis] == 1 ? 0 : at[axis]);
  return index;
}
ScoreRule with_bias(const Shape& shape, const std::vector<double>& numbers) {
  return [=](int64_t b, int64_t h, int64_t i, int64_t j, double s) {
    return s + numbers[index_in(shape, b, h, i, j)];
  };
}

TEST(Bias, IsItsFormulaInEveryInputAndNumber) {
  const AttentionShape n{.B = 2, .H = 2, .G = 1, .T = 3, .S = 4, .D = 3, .E = 2};
  for (int ones = 0; ones < 16; ++ones)
    check_op(
        "bias",
        {random({2, 2, 3, 3}, 1), random({2, 1, 4, 3}, 2), random({2, 1, 4, 2}, 3), random(bias_shape(n, ones), 4)},
        [&](const Variables& x) { return attention(x[0], x[1], x[2], {.modify = {bias(x[3])}, .mask = causal()}); },
        [&](const Doubles& x) {
          return plain_attention(n, x[0], x[1], x[2], {}, with_bias(bias_shape(n, ones), x[3]), causal_rule(n)).out;
        },
        {.value = 2e-6, .gradient = 1e-5, .strided = false});
}

// (Summed over all keys of a query the gradient is zero: what remains is the rounding of hundreds of terms.)
TEST(Bias, SumsItsGradientOverAllTilesAndBroadcastAxes) {
  uint64_t stream = 0;
  for (const AttentionShape& n : modifier_shapes())
    for (int ones = 0; ones < 16; ++ones) {
      const Shape shape = bias_shape(n, ones);
      const Variable numbers(random(shape, ++stream), {.requires_grad = true});
      const Modified x(n, bias(numbers), with_bias(shape, doubles(numbers.value())), ones % 3 == 0, stream += 10);
      expect_close(numbers.grad(),
                   x.gradient(
                       shape.numel(),
                       [&](int64_t b, int64_t h, int64_t i, int64_t j) { return index_in(shape, b, h, i, j); },
                       [](auto, auto) { return 1.0; }),
                   1e-4, "bias");
    }
}

TEST(Bias, ReadsNumbersOfAnyStrides) {
  const Tensor q = random({2, 2, 70, 4}, 1), k = random({2, 1, 140, 4}, 2), packed = random({2, 2, 70, 140}, 3);
  const auto of = [&](const Tensor& numbers) { return attention(q, k, k, {.modify = {bias(numbers)}}); };
  const Tensor wanted = of(packed);
  EXPECT_TRUE(same_bits(of(packed.transpose(2, 3).clone().transpose(2, 3)), wanted)) << "contiguous queries";
  EXPECT_TRUE(same_bits(of(packed.transpose(0, 3).clone().transpose(0, 3)), wanted)) << "contiguous batch rows";
  EXPECT_TRUE(same_bits(of(with_gaps_between_elements(packed)), wanted)) << "nothing contiguous";
  const Tensor one = packed.slice(0, 0, 1).slice(2, 0, 1);
  EXPECT_TRUE(same_bits(of(one), of(one.expand({2, 2, 70, 140})))) << "an expanded view";
}

TEST(Bias, OfMinusInfinityMasksThePair) {
  const AttentionShape n{.B = 1, .H = 2, .G = 1, .T = 70, .S = 140, .D = 4, .E = 3};
  Tensor numbers = random({1, 2, 70, 140}, 1);
  for (int64_t i = 0; i < 70; ++i)  // query 5 sees no key, the others not every third
    for (int64_t j = 0; j < 140; ++j)
      for (int64_t h = 0; h < 2; ++h)
        if (i == 5 || (i + j) % 3 == 0) numbers.data<float>()[(h * 70 + i) * 140 + j] = -INFINITY;
  const Variable x(numbers, {.requires_grad = true});
  const Modified y(n, bias(x), with_bias(numbers.shape(), doubles(numbers)), false, 10);
  expect_close(x.grad(), y.wanted.ds, 1e-5, "bias");
  for (int64_t i = 0; i < 2 * 70 * 140; ++i)
    ASSERT_TRUE(!std::isinf(numbers.data<float>()[i]) || x.grad().data<float>()[i] == 0) << i;
  for (int64_t e = 0; e < 3; ++e) EXPECT_EQ(y.out.value().at<float>({0, 1, 5, e}), 0.0f);
  for (int64_t d = 0; d < 4; ++d) EXPECT_EQ(y.q.grad().at<float>({0, 1, 5, d}), 0.0f);
}

TEST(Bias, RejectsWhatDoesNotFit) {
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

}  // namespace
}  // namespace qkv
