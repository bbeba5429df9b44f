#include "qkv/attention/score/distance.h"

#include "qkv/attention/score/score_calls_test.h"
#include "qkv/op/arithmetic.h"

namespace qkv::distance_test {

using namespace test;

TEST(Distance, EqualsItsFormulaInEveryInput) {
  for (const int64_t D : {1, 3, 6})
    for (const ScoreCall& call : score_calls(D, D))
      check_op("distance", call.inputs(),
               [&](const Variables& x) {
                 return attention(x[0], x[1], x[2], {.score = distance(), .mask = call.mask()});
               },
               call.formula([](const Doubles&) { return reference::distance(); }),
               {.value = 3e-6, .gradient = 1e-5, .strided = false});
}

TEST(Gaussian, EqualsItsFormulaInEveryInputAndItsWidth) {
  for (const float sigma : {0.7f, 1.5f})
    for (const ScoreCall& call : score_calls(3, 3)) {
      std::vector<Tensor> inputs = call.inputs();
      inputs.push_back(Tensor::full({1}, sigma));
      check_op("gaussian", inputs,
               [&](const Variables& x) {
                 const Variable width = scale(x[3], 1.0f);  // its two gradients arrive at x[3] as one sum
                 return attention(x[0], x[1], x[2], {.score = gaussian(width), .mask = call.mask()});
               },
               call.formula([](const Doubles& x) {
                 return reference::gaussian({{1}, x[3]});
               }),
               {.value = 5e-6, .gradient = 2e-5, .strided = false});
    }
}

// |q|^2 - 2 q.k + |k|^2 in float would be off by whole numbers here.
TEST(Distance, IsAccurateForNearPointsFarFromTheOrigin) {
  const Tensor near = random_tensor({1, 2, 70, 4}, 1), keys = random_tensor({1, 2, 90, 4}, 2),
               values = random_tensor({1, 2, 90, 3}, 3);
  Tensor q = near.clone(), k = keys.clone();
  for (float& x : q.span<float>()) x = std::round(x * 256) / 256 + 4096;  // exact in float
  for (float& x : k.span<float>()) x = std::round(x * 256) / 256 + 4096;
  const ReferenceCall call = {.q = q, .k = k, .v = values, .score = reference::distance()};
  expect_reference(attention(q, k, values, {.score = distance()}), reference_attention(call).out, 2e-6, "out");
}

TEST(Gaussian, RejectsASigmaThatIsNotOnePositiveNumber) {
  EXPECT_EQ(error_of([] { gaussian(0.0f); }), "gaussian: sigma must be positive and finite, got 0");
  EXPECT_EQ(error_of([] { gaussian(Tensor::zeros({2})); }), "gaussian: sigma must be f32 of shape (1), got (2)");
}

}  // namespace qkv::distance_test
