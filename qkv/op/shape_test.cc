#include "qkv/op/shape.h"

#include "qkv/op/arithmetic.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::shape_test {

using namespace test;

// The formula of an op that only moves numbers: where each one comes from is what the op does to 0, 1, 2, ...
void check_moves(const std::string& name, const Shape& shape, const std::function<Variable(const Variable&)>& op) {
  Tensor numbers = Tensor::empty(shape);
  float next = 0;
  for (float& x : numbers.span<float>()) x = next++;
  const std::vector<double> from = doubles(op(numbers).value());
  check_op(
      name, {random_tensor(shape, 1)}, [&](const Variables& v) { return op(v[0]); },
      [&](const Doubles& d) { return each(from, [&](size_t i) { return d[0][static_cast<size_t>(from[i])]; }); },
      {.value = 0, .gradient = 1e-6});
}

TEST(ShapeOps, MoveNumbersAndTheirGradientsBack) {
  check_moves("reshape", {2, 3, 4}, [](const Variable& x) { return reshape(x, {4, 6}); });
  check_moves("transpose", {2, 3, 4}, [](const Variable& x) { return transpose(x, 0, 2); });
  check_moves("reshape of a transpose", {2, 3}, [](const Variable& x) { return reshape(transpose(x, 0, 1), {6}); });
  check_moves("slice", {2, 5, 2}, [](const Variable& x) { return slice(x, 1, 1, 4); });
  check_moves("empty slice", {2, 5, 2}, [](const Variable& x) { return slice(x, 1, 3, 3); });
  check_moves("split_heads", {2, 3, 8}, [](const Variable& x) { return split_heads(x, 4); });
  check_moves("join_heads", {2, 3, 4, 2}, [](const Variable& x) { return join_heads(x); });
  check_moves("nothing", {0, 3, 8}, [](const Variable& x) { return split_heads(x, 2); });
}

TEST(ShapeOps, PutNumbersAtTheirPositions) {
  const Tensor x = Tensor::from({0, 1, 2, 3, 4, 5, 6, 7}, {1, 2, 4});  // two positions of two heads of width two
  EXPECT_EQ(doubles(split_heads(x, 2).value()), (std::vector<double>{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_TRUE(same_bits(join_heads(split_heads(x, 2)).value(), x));
  EXPECT_EQ(doubles(transpose(Tensor::from({0, 1, 2, 3, 4, 5}, {2, 3}), 0, 1).value()),
            (std::vector<double>{0, 3, 1, 4, 2, 5}));
}

TEST(ShapeOps, SlicesOfOneValueAddUpTheirGradients) {
  check_op(
      "halves", {random_tensor({4, 3}, 1)},
      [](const Variables& v) { return multiply(slice(v[0], 0, 0, 3), slice(v[0], 0, 1, 4)); },
      [](const Doubles& d) {
        std::vector<double> y(9);
        for (size_t i = 0; i < 9; ++i) y[i] = d[0][i] * d[0][i + 3];
        return y;
      });
}

TEST(ShapeOps, SplittingHeadsCopiesNothing) {
  const Variable x = random_tensor({2, 3, 8}, 1);
  EXPECT_EQ(split_heads(x, 2).value().storage(), x.value().storage());
  EXPECT_EQ(join_heads(split_heads(x, 2)).value().storage(), x.value().storage());
}

TEST(ShapeOps, RejectShapesThatDoNotFit) {
  EXPECT_EQ(error_of([] {
              split_heads(Tensor::zeros({2, 3, 8}), 3);
            }),
            "split_heads: x is (B 2, T 3, C 8): its width must be a multiple of 3 heads");
  EXPECT_NE(error_of([] { join_heads(Tensor::zeros({2, 3, 8})); }), "no error");
  EXPECT_NE(error_of([] { reshape(Tensor::zeros({2, 3}), {5}); }), "no error");
  EXPECT_NE(error_of([] { slice(Tensor::zeros({2, 3}), 1, 2, 4); }), "no error");
}

}  // namespace qkv::shape_test
