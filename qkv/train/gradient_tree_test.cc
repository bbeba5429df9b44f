#include "qkv/train/gradient_tree.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/train/gradients_test.h"

namespace qkv::gradient_tree_test {

std::vector<float> numbers(const Tensor& t) { return {t.span<float>().begin(), t.span<float>().end()}; }

// Sums of numbers of different size depend on their order.
TEST(GradientTree, AddsPiecesInABinaryTree) {
  const std::vector<float> x = {1e8f, 1, -1e8f, 1, 3, 1e-8f, 1e8f, -3};
  Variable p = parameter({0}, {1});
  GradientTree tree({p});
  for (const float g : x) {
    give_gradient(p, {g});
    tree.add();
    EXPECT_FALSE(p.grad().defined());
  }
  const float left = (x[0] + x[1]) + (x[2] + x[3]), right = (x[4] + x[5]) + (x[6] + x[7]);
  EXPECT_EQ(numbers(tree.sum()), std::vector<float>{left + right});
}

TEST(GradientTree, IsTheSameTreeOfTheSumsOfItsHalves) {
  constexpr size_t n = 33'001;
  Variable p = parameter(random_values(n, 0), {static_cast<int64_t>(n)});
  const auto sum_of = [&](uint64_t first, uint64_t last) {
    GradientTree tree({p});
    for (uint64_t piece = first; piece < last; ++piece) {
      give_gradient(p, random_values(n, 1 + piece));
      tree.add();
    }
    return numbers(tree.sum());
  };
  const std::vector<float> left = sum_of(0, 4), right = sum_of(4, 8), whole = sum_of(0, 8);
  for (size_t i = 0; i < n; ++i) ASSERT_EQ(whole[i], left[i] + right[i]) << i;
}

TEST(GradientTree, RoundsPiecesAndSumsToBf16) {
  const auto rounded = [](float x) { return static_cast<float>(bfloat16(x)); };
  const std::vector<float> x = {1.001f, 300.7f, -1e-9f, 0.3333f};
  Variable p = parameter({0}, {1});
  GradientTree tree({p}, GradientFormat::bf16);
  for (const float g : x) {
    give_gradient(p, {g});
    tree.add();
  }
  const float left = rounded(rounded(x[0]) + rounded(x[1])), right = rounded(rounded(x[2]) + rounded(x[3]));
  EXPECT_EQ(numbers(tree.sum()), std::vector<float>{rounded(left + right)});
  EXPECT_NE(left + right, x[0] + x[1] + x[2] + x[3]);
}

// In parts, in any order: those of the last piece are returned with their sums.
TEST(GradientTree, AddsAPieceInPartsAsInOne) {
  constexpr int64_t n = 40'000;
  for (const uint64_t pieces : {1, 2, 8}) {
    Variable a = parameter(random_values(n, 0), {n}), b = parameter({0}, {1}),
             c = parameter(random_values(7, 1), {7});
    GradientTree whole({a, b, c}), parts({a, b, c});
    Tensor last, rest;
    for (uint64_t piece = 0; piece < pieces; ++piece) {
      const auto give = [&] {
        give_gradient(a, random_values(n, 2 * piece));
        give_gradient(c, random_values(7, 2 * piece + 1));
      };
      give();
      whole.add();
      give();
      last = parts.add_part(1, 3);
      EXPECT_TRUE(a.grad().defined());
      EXPECT_FALSE(c.grad().defined());
      rest = parts.add_part(0, 1);
      const std::vector<float> before = numbers(last.contiguous_copy());
      parts.end_piece();
      EXPECT_EQ(numbers(last.contiguous_copy()), before);
    }
    EXPECT_EQ(numbers(parts.sum()), numbers(whole.sum()));
    EXPECT_EQ(numbers(parts.sum().slice(0, n, n + 8)), numbers(last));
    EXPECT_EQ(numbers(parts.sum().slice(0, 0, n)), numbers(rest));
    EXPECT_EQ(parts.reached(), (std::vector<uint8_t>{1, 0, 1}));
  }
}

TEST(GradientTree, GivesParametersThatWereReachedTheirPart) {
  Variable a = parameter({0, 0}, {1, 2}), b = parameter({0}, {1}), c = parameter({0, 0}, {2});
  GradientTree tree({a, b, c});
  give_gradient(a, {1, 2});
  tree.add();
  give_gradient(c, {3, 4});
  tree.add();
  tree.give(tree.sum());
  EXPECT_EQ(numbers(a.grad()), (std::vector<float>{1, 2}));
  EXPECT_FALSE(b.grad().defined());
  EXPECT_EQ(numbers(c.grad()), (std::vector<float>{3, 4}));
  tree.clear();
  b.zero_grad();
  give_gradient(b, {5});
  a.zero_grad(), c.zero_grad();
  tree.add();
  EXPECT_EQ(numbers(tree.sum()), (std::vector<float>{0, 0, 5, 0, 0}));
  EXPECT_EQ(tree.reached(), (std::vector<uint8_t>{0, 1, 0}));
}

TEST(GradientTree, RefusesTheSumOfThreePieces) {
  Variable p = parameter({0}, {1});
  GradientTree tree({p});
  EXPECT_THROW(tree.sum(), Error);
  for (int i = 0; i < 3; ++i) tree.add();
  EXPECT_THROW(tree.sum(), Error);
}

}  // namespace qkv::gradient_tree_test
