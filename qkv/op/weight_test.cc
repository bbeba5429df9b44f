#include "qkv/op/weight.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/op/embedding.h"
#include "qkv/op/linear.h"
#include "qkv/tensor/storage.h"
#include "qkv/test_support/tensors.h"

namespace qkv::weight_test {

using test::largest_difference;
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

std::vector<WeightFormat> quantized_formats() {
  std::vector<WeightFormat> out;
  for (const auto& [format, name] : names_of(WeightFormat{}))
    if (is_quantized(format)) out.push_back(format);
  return out;
}

double distance(const Tensor& a, const Tensor& b) {
  double sum = 0, size = 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    const double x = a.data<float>()[i], y = b.data<float>()[i];
    sum += (x - y) * (x - y), size += x * x;
  }
  return std::sqrt(sum / size);
}

TEST(Weight, AQuantisedWeightIsNearToItsValuesInProductsAndAsATable) {
  const Tensor values = random_tensor({70, 512}, 1), x = random_tensor({5, 512}, 2);
  const Tensor ids = Tensor::from(std::vector<int32_t>{0, 69, 64, 63}, {1, 4});
  for (const WeightFormat format : quantized_formats()) {
    const Weight packed = Weight::packed(values, format);
    const Tensor rounded = packed.values();
    EXPECT_EQ(packed.format(), format);
    EXPECT_EQ(rounded.dtype(), DType::f32);
    const double bits = 8.0 * static_cast<double>(bytes_of(format, 256)) / 256;
    EXPECT_LT(distance(values, rounded), 4.0 * std::exp2(-bits)) << name_of(format);
    EXPECT_LT(distance(linear(x, rounded).value(), linear(x, packed).value()), 0.01) << name_of(format);
    EXPECT_TRUE(same_bits(embedding(ids, packed).value(), embedding(ids, rounded).value())) << name_of(format);
  }
}

TEST(Weight, IsStoredWithoutLossInEveryFormat) {
  const Tensor values = random_tensor({19, 256}, 1), x = random_tensor({3, 256}, 2);
  for (const auto& [format, name] : names_of(WeightFormat{})) {
    const Weight packed = Weight::packed(values, format);
    const StoredValues stored = packed.stored();
    EXPECT_EQ(stored.format(), format);
    EXPECT_EQ(stored.shape(), values.shape());
    EXPECT_EQ(stored.tensor().numel() * size_of(stored.tensor().dtype()), 19 * row_bytes(format, 256)) << name;
    EXPECT_TRUE(same_bits(stored.numbers(), packed.values())) << name;
    const Weight again = Weight::packed(stored);
    EXPECT_TRUE(same_bits(again.stored().tensor(), stored.tensor())) << name;
    EXPECT_TRUE(same_bits(linear(x, again).value(), linear(x, packed).value())) << name;
  }
}

TEST(Weight, RowsThatAreNotWholeBlocksAreHeldInAnotherFormat) {
  const auto held = [](int64_t K, WeightFormat format) {
    return Weight::packed(random_tensor({3, K}, 1), format).format();
  };
  EXPECT_EQ(held(256, WeightFormat::q4_k), WeightFormat::q4_k);
  EXPECT_EQ(held(64, WeightFormat::q4_k), WeightFormat::q5_0);
  EXPECT_EQ(held(64, WeightFormat::q2_k), WeightFormat::iq4_nl);
  EXPECT_EQ(held(33, WeightFormat::q4_k), WeightFormat::int8);
  EXPECT_EQ(held(33, WeightFormat::q8_0), WeightFormat::int8);
  EXPECT_EQ(held(1, WeightFormat::int8), WeightFormat::int8);
}

TEST(Weight, NumbersThatAFormatCannotHoldAreAnError) {
  for (const WeightFormat format : quantized_formats()) {
    Tensor values = random_tensor({3, 256}, 1);
    values.data<float>()[300] = std::numeric_limits<float>::infinity();
    try {
      Weight::packed(values, format);
      FAIL() << name_of(format);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("row 1 of (3, 256) is not"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(StoredValues(Tensor::zeros({2, 17}, DType::u8), WeightFormat::q4_0, 32), InputError);
  EXPECT_THROW(StoredValues(Tensor::zeros({2, 18}, DType::u8), WeightFormat::q4_0, 33), InputError);
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

// y, dx and dw of y = x W^T + b with the gradient dy.
struct Trained {
  Tensor y, dx, dw;
};
Trained trained(const Tensor& x_values, const Tensor& values, const Tensor& dy, const TrainingNumbers& numbers) {
  const Variable x(x_values, {.requires_grad = true}), w(values, {.requires_grad = true});
  const Weight weight = w;
  weight.train_in(numbers);
  const Variable y = linear(x, weight, random_tensor({values.dim(0)}, 9));
  y.backward(dy);
  return {y.value(), x.grad(), w.grad()};
}

TEST(Weight, TrainedInBf16HasTheProductsOfRoundedFactors) {
  const Tensor x = random_tensor({70, 33}, 1), w = random_tensor({40, 33}, 2), dy = random_tensor({70, 40}, 3);
  const auto of = [](const Tensor& t) { return rounded(t, WeightFormat::bf16); };
  const Trained got = trained(x, w, dy, {.precision = Precision::bf16});
  const Trained wanted = trained(of(x), of(w), of(dy), {});
  EXPECT_LT(largest_difference(got.y, wanted.y), 1e-5);
  EXPECT_LT(largest_difference(got.dx, wanted.dx), 1e-5);
  EXPECT_LT(largest_difference(got.dw, wanted.dw), 1e-5);
  const Trained full = trained(x, w, dy, {});
  EXPECT_GT(largest_difference(got.y, full.y), 1e-3);
  EXPECT_GT(largest_difference(got.dx, full.dx), 1e-3);
  EXPECT_GT(largest_difference(got.dw, full.dw), 1e-3);
}

TEST(Weight, TrainedInBf16IsUsedInF32WhereNothingIsRecorded) {
  const Tensor x = random_tensor({5, 33}, 1);
  const Variable w(random_tensor({40, 33}, 2), {.requires_grad = true});
  const Weight weight = w;
  weight.train_in({.precision = Precision::bf16});
  const NoGrad guard;
  EXPECT_TRUE(same_bits(linear(x, weight).value(), linear(x, w.value()).value()));
}

TEST(Weight, PackedForProductsInBf16HasThoseOfRoundedFactors) {
  const Tensor x = random_tensor({70, 33}, 1), w = random_tensor({40, 33}, 2);
  const Variable master(w, {.requires_grad = true});
  const Weight trained = master;
  trained.train_in({.precision = Precision::bf16});
  const Tensor wanted = linear(x, trained).value();
  for (const Tensor& stored : {w, w.to(DType::bf16)}) {
    const Weight weight = Weight::packed(StoredValues(stored), Precision::bf16);
    EXPECT_EQ(weight.format(), WeightFormat::bf16);
    EXPECT_TRUE(same_bits(weight.values(), w.to(DType::bf16)));
    EXPECT_TRUE(same_bits(linear(x, weight).value(), wanted));
    for (const int64_t row : {0, 69})
      EXPECT_TRUE(same_bits(linear(x.slice(0, row, row + 1), weight).value(), wanted.slice(0, row, row + 1)))
          << row;
    const std::vector<int32_t> some = {39, 0, 7};
    const Tensor part = linear(x, weight.rows(some)).value();
    for (size_t i = 0; i < some.size(); ++i)
      for (int64_t r = 0; r < 70; ++r)
        EXPECT_EQ(part.at<float>({r, static_cast<int64_t>(i)}), wanted.at<float>({r, some[i]}));
  }
  EXPECT_TRUE(same_bits(linear(x, Weight::packed(w, WeightFormat::int8, Precision::bf16)).value(),
                        linear(x, Weight::packed(w, WeightFormat::int8)).value()));
}

TEST(Weight, TrainedForAFormatHasItsResultsAndTheGradientsOfItsNumbers) {
  const Tensor x = random_tensor({70, 64}, 1), w = random_tensor({40, 64}, 2), dy = random_tensor({70, 40}, 3);
  for (const WeightFormat format : {WeightFormat::bf16, WeightFormat::int8, WeightFormat::q4_0}) {
    SCOPED_TRACE(name_of(format));
    const Weight held = Weight::packed(w, format);
    const Trained got = trained(x, w, dy, {.weights = format});
    const Trained wanted = trained(x, held.values().to(DType::f32), dy, {});
    EXPECT_TRUE(same_bits(got.y, linear(x, held, random_tensor({40}, 9)).value()));
    EXPECT_TRUE(same_bits(got.dx, wanted.dx));
    EXPECT_TRUE(same_bits(got.dw, wanted.dw));

    Variable master(w, {.requires_grad = true});
    const Weight weight = master;
    weight.train_in({.weights = format});
    const Tensor ids = Tensor::from(std::vector<int32_t>{39, 0, 39}, {1, 3});
    EXPECT_TRUE(same_bits(embedding(ids, weight).value(), embedding(ids, held).value()));
    EXPECT_TRUE(same_bits(weight.values(), w)) << "what is saved";
    master.mutable_value().copy_from(random_tensor({40, 64}, 4));
    EXPECT_TRUE(
        same_bits(linear(x, weight).value(), linear(x, Weight::packed(random_tensor({40, 64}, 4), format)).value()))
        << "after an update";
  }
}

TEST(Weight, ProductsBySomeRowsHaveTheBitsOfTheWholeProduct) {
  const int64_t N = 70, K = 256;
  const Tensor values = random_tensor({N, K}, 1), bf16 = values.to(DType::bf16);
  const std::vector<int32_t> indices = {69, 3, 3, 17, 64, 0};
  std::vector<Weight> weights = {values, Weight::packed(values, WeightFormat::f32),
                                 Weight::packed(values, WeightFormat::bf16), Weight::in_place(values),
                                 Weight::in_place(bf16)};
  for (const WeightFormat format : quantized_formats()) weights.push_back(Weight::packed(values, format));
  for (const Weight& whole : weights)
    for (const int64_t M : {1, 5, 40}) {
      const Tensor x = random_tensor({M, K}, 2);
      const Weight some = whole.rows(indices);
      EXPECT_TRUE(some.is_packed());
      EXPECT_EQ(some.format(), whole.format());
      const Tensor y = linear(x, some).value(), all = linear(x, whole).value();
      for (int64_t m = 0; m < M; ++m)
        for (int64_t n = 0; n < y.dim(1); ++n)
          ASSERT_EQ(y.at<float>({m, n}), all.at<float>({m, indices[static_cast<size_t>(n)]}))
              << name_of(whole.format()) << ", " << M << " rows";
    }
  const std::vector<int32_t> none, outside = {70}, negative = {-1};
  EXPECT_THROW(weights[0].rows(none), Error);
  EXPECT_THROW(weights[0].rows(outside), Error);
  EXPECT_THROW(weights[0].rows(negative), Error);
}

}  // namespace qkv::weight_test
