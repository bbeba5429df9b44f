#include "qkv/attention/score/score_function.h"

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/score/distance.h"
#include "qkv/base/error.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::score_function_test {

using namespace test;

// -|q - k|^2 / 2
ScorePtr distance_by_function() {
  return score_function(
      [](const float* q, const float* k, int64_t D) {
        float s = 0;
        for (int64_t d = 0; d < D; ++d) s -= (q[d] - k[d]) * (q[d] - k[d]) / 2;
        return s;
      },
      {.backward =
           [](const float* q, const float* k, int64_t D, float ds, float* dq, float* dk) {
             for (int64_t d = 0; d < D; ++d) {
               dq[d] -= ds * (q[d] - k[d]);
               dk[d] += ds * (q[d] - k[d]);
             }
           },
       .name = "mine"});
}

std::vector<Tensor> results(const ScorePtr& score, int64_t T, DType dtype) {
  const auto leaf = [&](const Shape& shape, uint64_t stream) {
    return Variable(random_tensor(shape, stream).to(dtype), {.requires_grad = true});
  };
  const Variable q = leaf({2, 4, T, 7}, 1), k = leaf({2, 2, 150, 7}, 2), v = leaf({2, 2, 150, 5}, 3);
  const auto [out, weights, lse] = attention_with_weights(q, k, v, {.score = score, .mask = causal()});
  out.backward(random_tensor({2, 4, T, 5}, 4).to(dtype));
  std::vector<Tensor> all = {out.value(), weights, q.grad(), k.grad(), v.grad()};
  for (Tensor& x : all) x = x.to(DType::f32);
  return all;
}

TEST(ScoreFunction, HasTheValuesAndGradientsOfItsFormula) {
  for (const int64_t T : {1, 70})
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const auto got = results(distance_by_function(), T, dtype), wanted = results(distance(), T, dtype);
      for (size_t n = 0; n < got.size(); ++n)
        expect_close(got[n], doubles(wanted[n]), dtype == DType::f32 ? 3e-6 : 2e-2, std::to_string(n));
    }
}

TEST(ScoreFunction, WithoutABackwardHasNoGradient) {
  const ScorePtr score = score_function([](const float*, const float*, int64_t) { return 1.0f; });
  EXPECT_THROW(results(score, 3, DType::f32), Error);
  EXPECT_THROW(score_function(nullptr), Error);
}

}  // namespace qkv::score_function_test
