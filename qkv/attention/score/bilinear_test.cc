#include "qkv/attention/score/bilinear.h"

#include "qkv/attention/score/formula_test.h"

namespace qkv {
namespace {

using namespace test;

TEST(Bilinear, IsItsFormulaInEveryInputAndNumber) {
  for (const auto& [Dq, Dk] : {std::pair<int64_t, int64_t>{3, 5}, {6, 2}, {4, 4}})
    for (const Sizes& n : score_sizes(Dq, Dk)) {
      std::vector<Tensor> inputs = n.inputs();
      inputs.push_back(random({Dq, Dk}, 4, 0.5));
      check_op(
          "bilinear", inputs,
          [&](const Variables& x) {
            return attention(x[0], x[1], x[2], {.score = bilinear(x[3]), .mask = n.mask()});
          },
          [&](const Doubles& x) {
            const PairScore score = [&](const double* q, const double* k, int64_t) {
              double s = 0;
              for (int64_t a = 0; a < n.Dq; ++a)
                for (int64_t b = 0; b < n.Dk; ++b) s += q[a] * x[3][a * n.Dk + b] * k[b];
              return s;
            };
            return attention_by(score, n, x[0], x[1], x[2]);
          },
          {.value = 3e-6, .gradient = 1e-5, .strided = false});
    }
}

TEST(Bilinear, ReadsAMatrixOfAnyStrides) {
  const Tensor q = random({1, 2, 5, 3}, 1), k = random({1, 2, 7, 4}, 2), m = random({3, 4}, 3);
  const auto of = [&](const Tensor& matrix) { return attention(q, k, k, {.score = bilinear(matrix)}); };
  EXPECT_TRUE(same_bits(of(m.transpose(0, 1).clone().transpose(0, 1)), of(m)));
  EXPECT_TRUE(same_bits(of(with_gaps_between_elements(m)), of(m)));
}

TEST(Bilinear, GivesItsGradientTwice) {  // the same score in two calls
  const Variable m(random({3, 4}, 1), {.requires_grad = true});
  const ScorePtr score = bilinear(m);
  const Variable q = random({1, 1, 2, 3}, 2), k = random({1, 1, 5, 4}, 3);
  const Tensor upstream = random({1, 1, 2, 4}, 4);
  attention(q, k, k, {.score = score}).backward(upstream);
  std::vector<double> twice = doubles(m.grad());
  for (double& x : twice) x *= 2;
  attention(q, k, k, {.score = score}).backward(upstream);
  expect_close(m.grad(), twice, 1e-7, "twice");
}

TEST(Bilinear, RejectsWhatDoesNotFit) {
  const Tensor q = Tensor::zeros({1, 1, 2, 3}), k = Tensor::zeros({1, 1, 2, 4});
  EXPECT_EQ(error_of([&] {
              attention(q, k, k, {.score = bilinear(Tensor::zeros({4, 3}))});
            }),
            "bilinear: m (Dq, Dk) is (4, 3) for Dq 3 and Dk 4");
  EXPECT_EQ(error_of([] { bilinear(Tensor::zeros({4})); }), "bilinear: m must be f32 of shape (Dq, Dk), got (4)");
}

}  // namespace
}  // namespace qkv
