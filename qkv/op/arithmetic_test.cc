#include "qkv/op/arithmetic.h"

#include "qkv/test_support/gradient_check.h"

namespace qkv::arithmetic_test {

using namespace test;

const Shape shapes[] = {{3, 5}, {1}, {0, 3}, {2, 1, 4, 3}};

TEST(Arithmetic, AddMultiplyAndScaleEqualTheirFormulas) {
  for (const Shape& shape : shapes) {
    const std::vector<Tensor> two = {random_tensor(shape, 1), random_tensor(shape, 2)};
    check_op(
        "add", two, [](const Variables& x) { return add(x[0], x[1]); },
        [](const Doubles& x) { return each(x[0], [&](size_t i) { return x[0][i] + x[1][i]; }); });
    check_op(
        "add a constant", {two[0]}, [](const Variables& x) { return add(x[0], 1.5f); },
        [](const Doubles& x) { return each(x[0], [&](size_t i) { return x[0][i] + 1.5; }); });
    check_op(
        "multiply", two, [](const Variables& x) { return multiply(x[0], x[1]); },
        [](const Doubles& x) { return each(x[0], [&](size_t i) { return x[0][i] * x[1][i]; }); });
    check_op(
        "scale", {two[0]}, [](const Variables& x) { return scale(x[0], -0.7f); },
        [](const Doubles& x) { return each(x[0], [&](size_t i) { return -0.7 * x[0][i]; }); });
    check_op(
        "scale by a variable", {two[0], Tensor::full({1}, -1.3f)},
        [](const Variables& x) { return scale(x[0], x[1]); },
        [](const Doubles& x) { return each(x[0], [&](size_t i) { return x[0][i] * x[1][0]; }); });
    check_op(
        "divide", {two[0], Tensor::full({1}, -1.3f)}, [](const Variables& x) { return divide(x[0], x[1]); },
        [](const Doubles& x) { return each(x[0], [&](size_t i) { return x[0][i] / x[1][0]; }); });
    check_op(
        "sum", {two[0]}, [](const Variables& x) { return sum(x[0]); },
        [](const Doubles& x) {
          double total = 0;
          for (const double v : x[0]) total += v;
          return std::vector<double>{total};
        });
  }
}

TEST(Arithmetic, BothOperandsMayBeTheSame) {
  check_op(
      "square", {random_tensor({4}, 1)}, [](const Variables& x) { return multiply(x[0], x[0]); },
      [](const Doubles& x) { return each(x[0], [&](size_t i) { return x[0][i] * x[0][i]; }); });
  check_op(
      "double", {random_tensor({4}, 1)}, [](const Variables& x) { return add(x[0], x[0]); },
      [](const Doubles& x) { return each(x[0], [&](size_t i) { return 2 * x[0][i]; }); });
}

TEST(Arithmetic, RejectsShapesThatDoNotAgree) {
  const Variable a = Tensor::zeros({2, 3}), b = Tensor::zeros({3, 2});
  EXPECT_EQ(error_of([&] { add(a, b); }), "add: shapes must agree: (2, 3) and (3, 2)");
  EXPECT_EQ(error_of([&] { multiply(a, b); }), "multiply: shapes must agree: (2, 3) and (3, 2)");
  EXPECT_EQ(error_of([&] { scale(a, b); }), "scale: the factor must be one number, of shape (1), got (3, 2)");
  EXPECT_EQ(error_of([&] { divide(a, b); }), "divide: the divisor must be one number, of shape (1), got (3, 2)");
}

}  // namespace qkv::arithmetic_test
