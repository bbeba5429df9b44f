#include "qkv/tensor/tensor.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/tensor/layout.h"

namespace qkv::tensor_test {

// 0, 1, 2, ... in memory order.
Tensor counting(const Shape& shape) {
  Tensor x = Tensor::empty(shape);
  float next = 0;
  for (float& value : x.span<float>()) value = next++;
  return x;
}

std::vector<float> values(const Tensor& x) {
  const Tensor packed = x.contiguous_copy();
  const std::span<const float> span = std::as_const(packed).span<float>();
  return {span.begin(), span.end()};
}

using List = std::vector<float>;

TEST(Tensor, IsMadeFromNumbers) {
  const Tensor x = Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ(x.strides(), (Shape{3, 1}));
  EXPECT_EQ(x.at<float>({1, 2}), 6);
  EXPECT_EQ(values(Tensor::zeros({2})), (List{0, 0}));
  EXPECT_EQ(values(Tensor::full({2}, 7)), (List{7, 7}));
  EXPECT_EQ(Tensor::from({3}, {}).at<float>({}), 3);
  EXPECT_THROW(Tensor::from({1, 2, 3}, {2, 2}), Error);
  EXPECT_THROW(Tensor::empty({int64_t{1} << 62}), Error) << "the bytes must not overflow";
}

TEST(Tensor, CopiesAreViewsAndClonesAreNot) {
  Tensor x = counting({4});
  Tensor view = x, clone = x.clone();
  x.fill(9);
  EXPECT_EQ(values(view), (List{9, 9, 9, 9}));
  EXPECT_EQ(values(clone), (List{0, 1, 2, 3}));
}

TEST(Tensor, TransposeSwapsAxesWithoutCopying) {
  const Tensor x = counting({2, 3, 4});
  const Tensor t = x.transpose(0, -1);
  EXPECT_EQ(t.shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(t.strides(), (Shape{1, 4, 12}));
  EXPECT_EQ(t.storage(), x.storage());
  EXPECT_FALSE(t.contiguous());
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 3; ++j)
      for (int64_t k = 0; k < 2; ++k) EXPECT_EQ(t.at<float>({i, j, k}), x.at<float>({k, j, i}));
  EXPECT_EQ(values(t.clone().transpose(0, 2)), values(x));
  EXPECT_THROW(x.transpose(0, 3), Error);
}

TEST(Tensor, SliceAndSelectAreViews) {
  Tensor x = counting({3, 4});
  EXPECT_EQ(values(x.slice(1, 1, 3)), (List{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(values(x.slice(-2, 2, 3)), (List{8, 9, 10, 11}));
  EXPECT_EQ(x.slice(0, 1, 1).shape(), (Shape{0, 4}));
  EXPECT_EQ(values(x.select(1, 2)), (List{2, 6, 10}));
  EXPECT_EQ(x.select(0, 1).shape(), (Shape{4}));
  EXPECT_EQ(values(x.slice(0, 1, 3).select(1, 0)), (List{4, 8}));
  x.slice(1, 1, 3).fill(-1);
  EXPECT_EQ(values(x), (List{0, -1, -1, 3, 4, -1, -1, 7, 8, -1, -1, 11}));
  EXPECT_THROW(x.slice(0, 2, 4), Error);
  EXPECT_THROW(x.slice(0, -1, 2), Error);
  EXPECT_THROW(x.slice(0, 2, 1), Error);
  EXPECT_THROW(x.slice(2, 0, 1), Error);
  EXPECT_THROW(x.select(0, 3), Error);
  EXPECT_THROW(x.select(0, -1), Error);
}

TEST(Tensor, ExpandRepeatsWithoutCopying) {
  const Tensor x = counting({1, 3});
  const Tensor wide = x.expand({4, 3});
  EXPECT_EQ(wide.strides(), (Shape{0, 1}));
  EXPECT_EQ(values(wide.slice(0, 2, 4)), (List{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(values(x.expand({1, 3})), values(x));
  EXPECT_THROW(x.expand({1, 4}), Error);
  EXPECT_THROW(x.expand({3}), Error);
}

TEST(Tensor, ReshapeKeepsTheOrderInMemory) {
  const Tensor x = counting({2, 6});
  EXPECT_EQ(x.reshape({3, 4}).at<float>({2, 1}), 9);
  EXPECT_EQ(x.reshape({12}).storage(), x.storage());
  EXPECT_THROW(x.reshape({5}), Error);
  EXPECT_THROW(x.transpose(0, 1).reshape({12}), Error);
  EXPECT_THROW(x.slice(1, 0, 1).reshape({2}), Error) << "in steps of six";
}

TEST(Tensor, ContiguousMeansPackedWhateverTheStridesOfLengthOne) {
  EXPECT_TRUE(counting({2, 3}).contiguous());
  EXPECT_TRUE(counting({1, 3}).transpose(0, 1).contiguous());
  EXPECT_FALSE(counting({2, 3}).slice(1, 0, 2).contiguous());
  EXPECT_TRUE(counting({2, 3}).slice(0, 1, 2).contiguous());
  const Tensor x = counting({2, 3});
  EXPECT_EQ(x.contiguous_copy().storage(), x.storage());
  EXPECT_NE(x.transpose(0, 1).contiguous_copy().storage(), x.storage());
  EXPECT_THROW(std::as_const(x).transpose(0, 1).span<float>(), Error);
}

TEST(Tensor, AccessChecksTypeAndIndex) {
  Tensor x = counting({2, 3});
  EXPECT_THROW(x.data<int32_t>(), Error);
  EXPECT_THROW(x.at<float>({0}), Error);
  EXPECT_THROW(x.at<float>({2, 0}), Error);
  EXPECT_THROW(x.at<float>({0, -1}), Error);
  EXPECT_THROW(Tensor().data<float>(), Error);
  EXPECT_FALSE(Tensor().defined());
}

TEST(Tensor, AViewMustFitItsMemory) {
  const auto storage = Storage::allocate(24);
  EXPECT_EQ(Tensor::view(storage, DType::f32, {2, 3}, {3, 1}).numel(), 6);
  EXPECT_EQ(Tensor::view(storage, DType::f32, {100, 1}, {0, 1}, 5).numel(), 100);
  EXPECT_THROW(Tensor::view(storage, DType::f32, {2, 3}, {3, 1}, 1), Error);
  EXPECT_THROW(Tensor::view(storage, DType::f32, {7}, {1}), Error);
  EXPECT_THROW(Tensor::view(storage, DType::f32, {2}, {6}), Error);
  EXPECT_THROW(Tensor::view(storage, DType::f32, {2}, {1, 1}), Error);
  EXPECT_THROW(Tensor::view(storage, DType::f32, {2}, {1}, -1), Error);
  Shape backwards{1};
  backwards[0] = -1;
  EXPECT_THROW(Tensor::view(storage, DType::f32, {2}, backwards), Error);
}

TEST(Tensor, CopyFromFollowsStridesOnBothSides) {
  Tensor x = Tensor::zeros({3, 2});
  Tensor window = x.transpose(0, 1);
  window.copy_from(counting({2, 3}));
  EXPECT_EQ(values(x), (List{0, 3, 1, 4, 2, 5}));
  EXPECT_THROW(x.copy_from(counting({2, 3})), Error);
  EXPECT_THROW(x.copy_from(Tensor::zeros({3, 2}, DType::i32)), Error);
  Tensor none = Tensor::empty({0, 2});
  none.copy_from(Tensor::empty({0, 2}));
}

TEST(Tensor, CopyFromKeepsToTheViewWhateverIsContiguous) {
  const Tensor whole = counting({3, 4, 5, 6});
  const auto expect_copy = [](const Tensor& from) {
    Tensor to = Tensor::full(from.shape(), -1), wide = Tensor::full({4, 5, 6, 7}, -1);
    to.copy_from(from);
    const Tensor inner = wide.slice(0, 1, 1 + from.dim(0)).slice(1, 0, from.dim(1)).slice(2, 1, 1 + from.dim(2));
    Tensor part = inner.slice(3, 0, from.dim(3));
    part.copy_from(from);
    for (int64_t a = 0; a < from.dim(0); ++a)
      for (int64_t b = 0; b < from.dim(1); ++b)
        for (int64_t c = 0; c < from.dim(2); ++c)
          for (int64_t d = 0; d < from.dim(3); ++d) {
            ASSERT_EQ(to.at<float>({a, b, c, d}), from.at<float>({a, b, c, d}));
            ASSERT_EQ(part.at<float>({a, b, c, d}), from.at<float>({a, b, c, d}));
          }
    int64_t written = 0;
    for (const float x : wide.span<float>()) written += x != -1;
    EXPECT_EQ(written, from.numel());
  };
  expect_copy(whole);
  expect_copy(whole.slice(0, 1, 2));
  expect_copy(whole.slice(1, 1, 3));
  expect_copy(whole.slice(2, 0, 4));
  expect_copy(whole.slice(3, 2, 3));
  expect_copy(whole.slice(3, 2, 5).slice(2, 1, 2));
  expect_copy(whole.slice(0, 0, 1).expand({3, 4, 5, 6}));
  expect_copy(whole.slice(3, 0, 1).slice(1, 0, 1).expand({3, 4, 5, 6}));
}

TEST(Tensor, Bfloat16IsRoundedToTheNearestEven) {
  const float inf = std::numeric_limits<float>::infinity();
  // Between 1 and the next bfloat16, 1 + 2^-7, lies 1 + 2^-8: a tie, to the even 1; a little more goes up.
  const Tensor x = Tensor::from({1 + 0x1p-8f, 1 + 0x1.02p-8f, 1 + 0x3p-8f, -2.5f, inf, -0.0f, 3.4e38f}, {7});
  EXPECT_EQ(values(x.to(DType::bf16).to(DType::f32)), (List{1, 1 + 0x1p-7f, 1 + 0x1p-6f, -2.5f, inf, -0.0f, inf}));
  const Tensor nan = Tensor::full({1}, std::nanf("")).to(DType::bf16).to(DType::f32);
  EXPECT_TRUE(std::isnan(nan.at<float>({0})));
}

TEST(Tensor, ConvertsBetweenTypes) {
  EXPECT_EQ(values(Tensor::from(std::vector<int32_t>{-3, 1 << 24}, {2}).to(DType::f32)), (List{-3, 1 << 24}));
  EXPECT_EQ(values(counting({2, 2}).transpose(0, 1).to(DType::bf16).to(DType::f32)), (List{0, 2, 1, 3}));
  EXPECT_THROW(counting({1}).to(DType::i32), Error);
}

TEST(Layout, GivesATensorTheMemoryOrderOfAnother) {
  const Tensor heads = counting({2, 5, 3, 4}).transpose(1, 2);  // (B,H,T,D) over memory (B,T,H,D)
  const Tensor made = empty_in_order_of(heads, {2, 3, 7, 6});
  EXPECT_EQ(made.strides(), (Shape{7 * 3 * 6, 6, 3 * 6, 1}));
  EXPECT_TRUE(made.transpose(1, 2).contiguous());
  EXPECT_TRUE(empty_in_order_of(counting({2, 3, 4}), {5, 6, 7}).contiguous());
  EXPECT_TRUE(empty_in_order_of(counting({1, 3, 4}).expand({2, 3, 4}), {2, 3, 4}).contiguous());
  EXPECT_THROW(empty_in_order_of(heads, {2, 3}), Error);
}

}  // namespace qkv::tensor_test
