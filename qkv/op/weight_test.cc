#include "qkv/op/weight.h"

#include <gtest/gtest.h>

#include "qkv/op/embedding.h"
#include "qkv/op/linear.h"
#include "qkv/tensor/storage.h"
#include "qkv/test_support/tensors.h"

namespace qkv::weight_test {

using test::random_tensor;
using test::same_bits;

const WeightFormat formats[] = {WeightFormat::f32, WeightFormat::bf16};

Tensor rounded(const Tensor& values, WeightFormat format) { return values.to(element_type(format)).to(DType::f32); }

TEST(Weight, APackedWeightGivesTheResultsOfAVariable) {
  const Tensor values = random_tensor({70, 33}, 1), x = random_tensor({5, 33}, 2);
  const Tensor ids = Tensor::from(std::vector<int32_t>{0, 69, 64, 63}, {1, 4});
  for (const WeightFormat format : formats) {
    const Weight packed = Weight::packed(values, format), plain = rounded(values, format);
    EXPECT_TRUE(same_bits(linear(x, packed).value(), linear(x, plain).value())) << name_of(format);
    EXPECT_TRUE(
        same_bits(embedding(ids, packed, {.scale = 1.5f}).value(), embedding(ids, plain, {.scale = 1.5f}).value()))
        << name_of(format);
    EXPECT_EQ(packed.format(), format);
    EXPECT_EQ(packed.shape(), values.shape());
    EXPECT_EQ(packed.values().dtype(), element_type(format));
    EXPECT_TRUE(same_bits(packed.values().to(DType::f32), rounded(values, format)));
  }
}

TEST(Weight, InPlaceIsMultipliedAndReadLikeAPackedOneAndTakesNoMemory) {
  const Tensor x = random_tensor({5, 33}, 2), ids = Tensor::from(std::vector<int32_t>{0, 69, 64, 63}, {1, 4});
  for (const WeightFormat format : formats) {
    const Tensor values = random_tensor({70, 33}, 1).to(element_type(format));
    const Weight packed = Weight::packed(values, format);
    const int64_t before = storage_statistics().used_bytes;
    const Weight placed = Weight::in_place(values);
    EXPECT_EQ(storage_statistics().used_bytes, before);
    EXPECT_EQ(placed.format(), format);
    EXPECT_TRUE(placed.is_packed());
    EXPECT_TRUE(same_bits(linear(x, placed).value(), linear(x, packed).value()));
    EXPECT_TRUE(same_bits(embedding(ids, placed).value(), embedding(ids, packed).value()));
    EXPECT_TRUE(same_bits(placed.values().to(DType::f32), values.to(DType::f32)));
  }
  EXPECT_THROW(Weight::in_place(random_tensor({33, 70}, 1).transpose(0, 1)), Error);
}

TEST(Weight, PacksStridedValuesAndValuesInEitherType) {
  const Tensor transposed = random_tensor({33, 70}, 1).transpose(0, 1);
  for (const WeightFormat format : formats)
    EXPECT_TRUE(same_bits(Weight::packed(transposed, format).values().to(DType::f32),
                          rounded(transposed.contiguous_copy(), format)));
  const Tensor halves = transposed.to(DType::bf16);
  for (const WeightFormat format : formats)
    EXPECT_TRUE(same_bits(Weight::packed(halves, format).values().to(DType::f32), halves.to(DType::f32)));
}

TEST(Weight, AProductByAPackedWeightHasNoGradient) {
  const Variable x(random_tensor({2, 4}, 1), {.requires_grad = true});
  const Variable y = linear(x, Weight::packed(random_tensor({3, 4}, 2), WeightFormat::bf16));
  try {
    y.backward(random_tensor({2, 3}, 3));
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "backward: the weight (3, 4) is packed for inference, which has no gradients");
  }
}

TEST(Weight, FollowsTheValuesOfItsMaster) {
  Variable master(random_tensor({3, 4}, 1), {.requires_grad = true});
  const Weight weight = master;
  const Tensor x = random_tensor({2, 4}, 2);
  linear(x, weight);
  master.mutable_value().copy_from(random_tensor({3, 4}, 3));
  EXPECT_TRUE(same_bits(linear(x, weight).value(), linear(x, random_tensor({3, 4}, 3)).value()));
}

}  // namespace qkv::weight_test
