#include "qkv/autograd/recompute.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::recompute_test {

Variable leaf(float x) { return Variable(Tensor::full({2}, x), {.requires_grad = true}); }
Tensor product(const Tensor& a, const Tensor& b) { return Tensor::full({2}, a.at<float>({0}) * b.at<float>({0})); }
Variable multiply(const Variable& a, const Variable& b) {
  return record("multiply", {a, b}, product(a.value(), b.value()),
                [x = a.value(), y = b.value()](const Tensor& grad, const std::vector<bool>&) {
                  return std::vector<Tensor>{product(grad, y), product(grad, x)};
                });
}
void backward(const Variable& y) { y.backward(Tensor::full({2}, 1.0f)); }
float number(const Tensor& x) { return x.at<float>({0}); }

TEST(Recompute, GradientsAreThoseOfTheTape) {
  const Variable x = leaf(3), m = leaf(5), parameter = leaf(7);
  int calls = 0;
  const auto part = [&](std::span<const Variable> in) {
    ++calls;
    return multiply(multiply(in[0], in[1]), parameter);
  };
  const Variable y = multiply(recompute({x, m}, part), x);
  EXPECT_EQ(number(y.value()), 3 * 5 * 7 * 3);
  EXPECT_EQ(calls, 1);
  backward(y);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(number(x.grad()), 2 * 3 * 5 * 7);
  EXPECT_EQ(number(m.grad()), 3 * 7 * 3);
  EXPECT_EQ(number(parameter.grad()), 3 * 5 * 3);
}

TEST(Recompute, APartInAPart) {
  const Variable x = leaf(2);
  const auto square = [](std::span<const Variable> in) { return multiply(in[0], in[0]); };
  const auto twice = [&](std::span<const Variable> in) { return recompute({recompute({in[0]}, square)}, square); };
  backward(recompute({x}, twice));
  EXPECT_EQ(number(x.grad()), 4 * 8);
}

TEST(Recompute, OfAConstantParametersStillGetTheirGradients) {
  const Variable parameter = leaf(7);
  const Variable constant(Tensor::full({2}, 3.0f));
  const auto part = [&](std::span<const Variable> in) { return multiply(in[0], parameter); };
  backward(recompute({constant}, part));
  EXPECT_EQ(number(parameter.grad()), 3);
  EXPECT_FALSE(constant.requires_grad());
}

TEST(Recompute, WithoutGradientsItIsACall) {
  const NoGrad guard;
  int calls = 0;
  const Variable x = leaf(3);
  const Variable y = recompute({x, Variable()}, [&](std::span<const Variable> in) {
    ++calls;
    EXPECT_FALSE(in[1].defined());
    return multiply(in[0], in[0]);
  });
  EXPECT_EQ(number(y.value()), 9);
  EXPECT_FALSE(y.requires_grad());
  EXPECT_EQ(calls, 1);
}

TEST(Recompute, IntermediateValuesAreFreed) {
  const Variable x = leaf(3);
  std::weak_ptr<Storage> watch;
  const Variable y = recompute({x}, [&](std::span<const Variable> in) {
    const Variable between = multiply(in[0], in[0]);
    watch = between.value().storage();
    return multiply(between, in[0]);
  });
  EXPECT_TRUE(watch.expired());
  backward(y);
  EXPECT_EQ(number(x.grad()), 27);
  EXPECT_THROW(backward(y), Error);
}

}  // namespace qkv::recompute_test
