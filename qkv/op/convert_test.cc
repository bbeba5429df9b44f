#include "qkv/op/convert.h"

#include <gtest/gtest.h>

namespace qkv::convert_test {

TEST(Convert, RoundsToBf16AndConvertsTheGradientToFloats) {
  const Variable x(Tensor::full({2, 3}, 1.0f + 0x1p-9f), {.requires_grad = true});
  const Variable y = convert(x, DType::bf16);
  EXPECT_EQ(y.value().dtype(), DType::bf16);
  EXPECT_EQ(static_cast<float>(y.value().at<bfloat16>({1, 2})), 1.0f);
  y.backward(Tensor::full({2, 3}, 0.5f).to(DType::bf16));
  EXPECT_EQ(x.grad().dtype(), DType::f32);
  EXPECT_EQ(x.grad().at<float>({1, 2}), 0.5f);
}

TEST(Convert, KeepsTheOrderOfMemory) {
  const Tensor x = Tensor::full({2, 4, 3, 5}, 2.0f).transpose(1, 2), y = convert(x, DType::bf16);
  EXPECT_EQ(y.shape(), x.shape());
  for (int axis = 0; axis < 4; ++axis) EXPECT_EQ(y.stride(axis), x.stride(axis));
}

TEST(Convert, GradientsOfBf16Accumulate) {
  const Variable x(Tensor::full({2}, 1.0f).to(DType::bf16), {.requires_grad = true});
  for (int pass = 0; pass < 2; ++pass) convert(x, DType::f32).backward(Tensor::full({2}, 0.75f));
  EXPECT_EQ(static_cast<float>(x.grad().at<bfloat16>({0})), 1.5f);
}

}  // namespace qkv::convert_test
