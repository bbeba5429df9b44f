#include "qkv/op/activation.h"

#include "qkv/test_support/gradient_check.h"

namespace qkv::activation_test {

using namespace test;

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

struct Case {
  const char* name;
  Variable (*op)(const Variable&);
  double (*formula)(double);
};

const Case cases[] = {
    {"relu", relu, [](double x) { return x > 0 ? x : 0; }},
    {"gelu", gelu, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
    {"gelu_tanh", gelu_tanh,
     [](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
    {"quick_gelu", quick_gelu, [](double x) { return x * sigmoid_of(1.702 * x); }},
    {"silu", silu, [](double x) { return x * sigmoid_of(x); }},
    {"sigmoid", sigmoid, sigmoid_of},
    {"tanh", tanh, [](double x) { return std::tanh(x); }},
};

void check(const Case& c, const Tensor& x) {
  check_op(
      c.name, {x}, [&](const Variables& v) { return c.op(v[0]); },
      [&](const Doubles& v) { return each(v[0], [&](size_t i) { return c.formula(v[0][i]); }); });
}

TEST(Activation, EqualsItsFormulaAndSlope) {
  for (const Case& c : cases) {
    check(c, random_tensor({2, 3, 7}, 1, 2.0));
    check(c, random_tensor({1}, 2));
    check(c, Tensor::empty({0, 4}));
    // Not at 0, where ReLU has no derivative.
    check(c, Tensor::from({-80, -20, -9, -5.5f, -1e-3f, 1e-3f, 4.5f, 8, 20, 80}, {10}));
  }
}

TEST(Activation, PassesNoGradientThroughReluAtZero) {
  const Variable x(Tensor::zeros({3}), {.requires_grad = true});
  relu(x).backward(Tensor::full({3}, 1.0f));
  EXPECT_TRUE(same_bits(x.grad(), Tensor::zeros({3})));
}

}  // namespace qkv::activation_test
