#include "qkv/attention/score/bilinear.h"

#include "qkv/attention/score/score_calls_test.h"

namespace qkv::bilinear_test {

using namespace test;

TEST(Bilinear, EqualsItsFormulaInEveryInputAndNumber) {
  for (const auto& [Dq, Dk] : {std::pair<int64_t, int64_t>{3, 5}, {6, 2}, {4, 4}})
    for (const ScoreCall& call : score_calls(Dq, Dk)) {
      std::vector<Tensor> inputs = call.inputs();
      inputs.push_back(random_tensor({Dq, Dk}, 4, 0.5));
      check_op("bilinear", inputs,
               [&](const Variables& x) {
                 return attention(x[0], x[1], x[2], {.score = bilinear(x[3]), .mask = call.mask()});
               },
               call.formula([Dq = Dq, Dk = Dk](const Doubles& x) {
                 return reference::bilinear({{Dq, Dk}, x[3]});
               }),
               {.value = 3e-6, .gradient = 1e-5, .strided = false});
    }
}

TEST(Bilinear, ReadsAMatrixOfAnyStrides) {
  const Tensor q = random_tensor({1, 2, 5, 3}, 1), k = random_tensor({1, 2, 7, 4}, 2), m = random_tensor({3, 4}, 3);
  const auto of = [&](const Tensor& matrix) { return attention(q, k, k, {.score = bilinear(matrix)}); };
  EXPECT_TRUE(same_bits(of(with_transposed_memory(m, 0, 1)), of(m)));
  EXPECT_TRUE(same_bits(of(with_gaps_between_elements(m)), of(m)));
}

TEST(Bilinear, SumsTheGradientsOfTwoCalls) {
  const Variable m(random_tensor({3, 4}, 1), {.requires_grad = true});
  const ScorePtr score = bilinear(m);
  const Variable q = random_tensor({1, 1, 2, 3}, 2), k = random_tensor({1, 1, 5, 4}, 3);
  const Tensor upstream = random_tensor({1, 1, 2, 4}, 4);
  attention(q, k, k, {.score = score}).backward(upstream);
  std::vector<double> twice = doubles(m.grad());
  for (double& x : twice) x *= 2;
  attention(q, k, k, {.score = score}).backward(upstream);
  expect_close(m.grad(), twice, 1e-7, "twice");
}

TEST(Bilinear, RejectsOtherWidths) {
  const Tensor q = Tensor::zeros({1, 1, 2, 3}), k = Tensor::zeros({1, 1, 2, 4});
  EXPECT_EQ(error_of([&] {
              attention(q, k, k, {.score = bilinear(Tensor::zeros({4, 3}))});
            }),
            "bilinear: m (Dq, Dk) is (4, 3) for Dq 3 and Dk 4");
  EXPECT_EQ(error_of([] { bilinear(Tensor::zeros({4})); }), "bilinear: m must be f32 of shape (Dq, Dk), got (4)");
}

}  // namespace qkv::bilinear_test
