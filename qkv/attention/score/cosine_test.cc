#include "qkv/attention/score/cosine.h"

#include "qkv/attention/score/score_calls_test.h"

namespace qkv::cosine_test {

using namespace test;

TEST(Cosine, EqualsItsFormulaInEveryInput) {
  for (const float scale : {1.0f, 7.5f})
    for (const ScoreCall& call : score_calls(5, 5))
      check_op("cosine", call.inputs(),
               [&](const Variables& x) {
                 return attention(x[0], x[1], x[2], {.score = cosine(scale), .mask = call.mask()});
               },
               call.formula([scale](const Doubles&) { return reference::cosine(static_cast<double>(scale)); }),
               {.value = 3e-6, .gradient = 2e-5, .strided = false});
}

TEST(Cosine, HasAGradientForItsGain) {
  for (const ScoreCall& call : score_calls(5, 5)) {
    std::vector<Tensor> inputs = call.inputs();
    inputs.push_back(Tensor::full({1}, -1.7f));
    check_op("cosine with a gain", inputs,
             [&](const Variables& x) {
               return attention(x[0], x[1], x[2], {.score = cosine(2.5f, x[3]), .mask = call.mask()});
             },
             call.formula([](const Doubles& x) {
               return reference::cosine(2.5, {{1}, x[3]});
             }),
             {.value = 3e-6, .gradient = 2e-5, .strided = false});
  }
}

TEST(Cosine, DoesNotDependOnTheNorms) {
  const Tensor q = random_tensor({1, 2, 3, 8}, 1), k = random_tensor({1, 2, 9, 8}, 2);
  Tensor longer = k.clone();
  for (float& x : longer.span<float>()) x *= 1024.0f;  // a power of two: not a bit changes
  const auto weights = [&](const Tensor& keys) {
    return attention_with_weights(q, keys, k, {.score = cosine(5)}).weights;
  };
  EXPECT_TRUE(same_bits(weights(longer), weights(k)));
}

TEST(Cosine, OfZerosIsZeroAndGivesNoGradient) {
  Tensor keys = random_tensor({1, 1, 4, 3}, 1);
  for (int64_t d = 0; d < 3; ++d) keys.data<float>()[3 + d] = 0.0f;
  const Variable q(Tensor::zeros({1, 1, 2, 3}), {.requires_grad = true}), k(keys, {.requires_grad = true});
  const auto result = attention_with_weights(q, k, Variable(keys), {.score = cosine()});
  result.out.backward(random_tensor({1, 1, 2, 3}, 2));
  expect_close(result.weights, std::vector<double>(8, 0.25), 1e-7, "weights");
  EXPECT_EQ(doubles(q.grad()), std::vector<double>(6, 0.0));
  for (int64_t d = 0; d < 3; ++d) EXPECT_EQ(k.grad().at<float>({0, 0, 1, d}), 0.0f);
}

TEST(Cosine, RejectsAScaleThatIsNotFinite) {
  EXPECT_EQ(error_of([] { cosine(INFINITY); }), "cosine: the scale must be a finite number, got inf");
  EXPECT_EQ(error_of([] { cosine(1, Variable(Tensor::zeros({2}))); }),
            "cosine: the gain must be one number, of shape (1), got (2)");
}

}  // namespace qkv::cosine_test
