#include "qkv/attention/score/additive.h"

#include "qkv/attention/mask/causal.h"
#include "qkv/test_support/check_attention.h"

namespace qkv::additive_test {

using namespace test;

struct Sizes {
  AttentionShape n;  // D is the width of the queries
  int64_t key_width, features;
};

// Inputs q, k, v, w_q, w_k, w_v, flat; optionally causal.
std::vector<double> formula(const Doubles& x, const Sizes& sizes, bool is_causal) {
  const auto& [n, key_width, F] = sizes;
  ReferenceCall call = reference_call(n, x);
  call.score = reference::additive({{F, n.D}, x[3]}, {{F, key_width}, x[4]}, {{F}, x[5]});
  if (is_causal) call.visible = causal_rule(n);
  return reference_attention(call).out.values;
}

std::vector<Tensor> inputs(const Sizes& sizes) {
  const auto& [n, key_width, F] = sizes;
  return {random_tensor({n.B, n.H, n.T, n.D}, 1), random_tensor({n.B, n.G, n.S, key_width}, 2),
          random_tensor({n.B, n.G, n.S, n.E}, 3), random_tensor({F, n.D}, 4, 0.5),
          random_tensor({F, key_width}, 5, 0.5),  random_tensor({F}, 6)};
}

TEST(Additive, EqualsItsFormulaInEveryInputAndWeight) {
  for (const Sizes& n :
       {Sizes{{1, 1, 1, 1, 1, 1, 1}, 1, 1}, {{2, 2, 1, 3, 4, 5, 2}, 3, 6}, {{1, 4, 2, 5, 5, 2, 3}, 2, 19}})
    for (const bool is_causal : {false, true})
      check_op(
          "additive", inputs(n),
          [&](const Variables& x) {
            return attention(x[0], x[1], x[2],
                             {.score = additive(x[3], x[4], x[5]), .mask = is_causal ? causal() : MaskPtr()});
          },
          [&](const Doubles& x) { return formula(x, n, is_causal); },
          {.value = 2e-6, .gradient = 1e-5, .strided = false});
}

TEST(Additive, SumsItsGradientsOverAllTiles) {
  const Sizes n{{1, 2, 1, 70, 140, 2, 2}, 3, 3};
  const std::vector<Tensor> all = inputs(n);
  check_op(
      "weights", {all[3], all[4], all[5]},  // of any strides
      [&](const Variables& w) {
        return attention(Variable(all[0]), Variable(all[1]), Variable(all[2]),
                         {.score = additive(w[0], w[1], w[2])});
      },
      [&](const Doubles& w) {
        return formula({doubles(all[0]), doubles(all[1]), doubles(all[2]), w[0], w[1], w[2]}, n, false);
      },
      {.value = 2e-6, .gradient = 1e-5});
}

TEST(Additive, TakesProjectedQueriesAndKeys) {
  const Sizes n{{2, 4, 2, 3, 5, 6, 2}, 6, 6};
  const std::vector<Tensor> x = inputs(n);
  std::vector<double> identity(36);
  for (size_t i = 0; i < 6; ++i) identity[i * 7] = 1;
  check_op(
      "additive(w_v)", {x[0], x[1], x[2], x[5]},
      [](const Variables& y) { return attention(y[0], y[1], y[2], {.score = additive(y[3])}); },
      [&](const Doubles& y) {
        return formula({y[0], y[1], y[2], identity, identity, y[3]}, n, false);
      },
      {.value = 2e-6, .gradient = 1e-5, .strided = false});
}

// Queries of width 3, keys of width 2.
TEST(Concat, EqualsAdditiveWithConcatenatedWeights) {
  const Sizes n{{2, 2, 1, 3, 4, 3, 2}, 2, 4};
  const std::vector<Tensor> x = inputs(n);
  check_op(
      "concat", {x[0], x[1], x[2], random_tensor({4, 5}, 4, 0.5), x[5]},
      [&](const Variables& y) { return attention(y[0], y[1], y[2], {.score = concat(y[3], y[4])}); },
      [&](const Doubles& y) {
        ReferenceCall call = reference_call(n.n, y);
        call.score = reference::concat({{4, 5}, y[3]}, {{4}, y[4]});
        return reference_attention(call).out.values;
      },
      {.value = 2e-6, .gradient = 1e-5, .strided = false});
}

TEST(Concat, RejectsShapesThatDoNotAgree) {
  const Tensor q = Tensor::zeros({1, 1, 2, 3});
  EXPECT_EQ(error_of([&] {
              attention(q, q, q, {.score = concat(Tensor::zeros({2, 5}), Tensor::zeros({2}))});
            }),
            "concat: w (F, Dq + Dk) is (2, 5) for Dq 3 and Dk 3");
  EXPECT_EQ(error_of([] {
              concat(Tensor::zeros({3, 5}), Tensor::zeros({2}));
            }),
            "concat: F must agree: w (F, Dq + Dk) is (3, 5), w_v (F) is (2)");
}

TEST(Additive, HandlesSaturatedFeatures) {
  const Tensor q = Tensor::full({1, 1, 1, 1}, 100.0f), k = Tensor::from({-300, 0, 300}, {1, 1, 3, 1});
  const Tensor one = Tensor::full({1, 1}, 1.0f);
  const auto result = attention_with_weights(q, k, k, {.score = additive(one, one, Tensor::full({1}, 1.0f))});
  const double low = std::exp(-1), high = std::exp(1), total = low + 2 * high;  // tanh is -1, 1, 1
  expect_close(result.weights, {low / total, high / total, high / total}, 1e-6, "weights");
}

// exp(q + k) is computed as exp(q) exp(k) while both are far from overflow. A key too large for that must not
// change the scores of others.
TEST(Additive, DoesNotDependOnHowTanhIsComputed) {
  const Sizes n{{1, 1, 1, 40, 37, 5, 3}, 5, 21};
  std::vector<Tensor> all = inputs(n);
  for (const float limit : {19.0f, 25.0f}) {
    for (int64_t d = 0; d < n.key_width; ++d) all[1].data<float>()[7 * n.key_width + d] = d == 0 ? 2 * limit : 0.0f;
    for (int64_t f = 0; f < n.features; ++f)
      all[4].data<float>()[f * n.key_width] = f % 2 == 0 ? 0.5f : -0.5f;  // +- limit
    const Tensor out = attention(all[0], all[1], all[2], {.score = additive(all[3], all[4], all[5])});
    expect_close(out,
                 formula({doubles(all[0]), doubles(all[1]), doubles(all[2]), doubles(all[3]), doubles(all[4]),
                          doubles(all[5])},
                         n, false),
                 2e-6, limit < 20 ? "exponentials" : "tangents");
  }
}

TEST(Additive, RejectsShapesThatDoNotAgree) {
  EXPECT_EQ(error_of([] {
              additive(Tensor::zeros({3, 4}), Tensor::zeros({2, 4}), Tensor::zeros({3}));
            }),
            "additive: F must agree: w_q (F,Dq) is (3, 4), w_k (F,Dk) is (2, 4), w_v (F) is (3)");
  EXPECT_EQ(error_of([] {
              const Tensor q = Tensor::zeros({1, 1, 2, 3});
              attention(q, q, q, {.score = additive(Tensor::zeros({4}))});
            }),
            "additive: w_v (F) has F 4, q (B,H,T,F) is (1, 1, 2, 3), k (B,G,S,F) is (1, 1, 2, 3)");
}

}  // namespace qkv::additive_test
