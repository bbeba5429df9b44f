#include "qkv/op/convert.h"

#include <limits>

#include <gtest/gtest.h>

#include "qkv/test_support/tensors.h"

namespace qkv::convert_test {

using test::random_tensor, test::same_bits;

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

// By kernels where the order of memory is kept, else number by number: the same bits.
TEST(Convert, HasTheBitsOfTheConversionOfEachNumber) {
  Tensor numbers = random_tensor({3, 5, 7, 11}, 1);
  numbers.data<float>()[0] = 0x1p-130f, numbers.data<float>()[1] = std::numeric_limits<float>::quiet_NaN();
  numbers.data<float>()[2] = -std::numeric_limits<float>::infinity();
  const Tensor row = numbers.slice(0, 1, 2);
  for (const Tensor& x :
       {numbers, numbers.transpose(1, 2), numbers.slice(2, 1, 4), row.transpose(0, 1), row.expand({4, 5, 7, 11})}) {
    const Tensor y = convert(x, DType::bf16), back = convert(y, DType::f32),
                 wanted = x.contiguous_copy().to(DType::bf16);
    EXPECT_EQ(y.shape(), x.shape());
    EXPECT_TRUE(same_bits(back.contiguous_copy(), wanted.to(DType::f32)));
  }
}

TEST(Convert, GradientsOfBf16Accumulate) {
  const Variable x(Tensor::full({2}, 1.0f).to(DType::bf16), {.requires_grad = true});
  for (int pass = 0; pass < 2; ++pass) convert(x, DType::f32).backward(Tensor::full({2}, 0.75f));
  EXPECT_EQ(static_cast<float>(x.grad().at<bfloat16>({0})), 1.5f);
}

}  // namespace qkv::convert_test
