#include "qkv/op/kept_input.h"

#include <array>
#include <utility>

#include <gtest/gtest.h>

#include "qkv/kernel/kernels.h"
#include "qkv/op/activation.h"
#include "qkv/test_support/tensors.h"

namespace qkv::kept_input_test {

using namespace qkv::test;

Weight trained_in(Precision precision, const Shape& shape = {40, 33}) {
  const Weight w = Variable(random_tensor(shape, 2), {.requires_grad = true});
  w.train_in({.precision = precision});
  return w;
}

DType kept_type(const Tensor& in, const Weight& w) {
  const WeightAndBias layer = w;
  return kept_input(in, std::span(&layer, 1)).dtype();
}

TEST(KeptInput, IsBf16WhereTheProductRoundsAndNothingElseKeepsIt) {
  const Variable x(random_tensor({70, 33}, 1));
  const Tensor in = x.value();
  EXPECT_EQ(kept_type(in, trained_in(Precision::bf16)), DType::bf16);
  EXPECT_EQ(kept_type(in, trained_in(Precision::f32)), DType::f32);
  const Tensor of_another_op = in.reshape({33, 70});
  EXPECT_EQ(kept_type(in, trained_in(Precision::bf16)), DType::f32);
}

TEST(KeptInput, LeavesTheBitsOfTheGradientOnEveryInstructionSet) {
  for (const kernel::Kernels* k : kernel::all_kernels()) {
    const kernel::UseKernels use(*k);
    for (const auto& [M, K, N] :
         {std::array<int64_t, 3>{1, 1, 1}, {1, 5, 3}, {70, 33, 40}, {300, 130, 17}, {513, 64, 96}}) {
      Tensor numbers = random_tensor({M, K}, 1);
      if (K > 1) numbers.data<float>()[1] = 0x1p-130f;  // denormal: instructions for bf16 take it for zero
      const Variable x(std::exchange(numbers, {}));
      const Weight w = trained_in(Precision::bf16, {N, K});
      const Tensor dy = random_tensor({M, N}, 3);
      Tensor wanted = Tensor::empty({N, K});
      w.gradient({dy.data<float>(), M, N}, {x.value().data<float>(), M, K}, wanted.data<float>());
      linear(x, w).backward(dy);
      EXPECT_TRUE(same_bits(w.master().grad(), wanted)) << k->isa << " " << M << " x " << K << " x " << N;
    }
  }
}

// bf16 numbers, such as those of an attention, give the results of the same floats, and are kept as they are.
TEST(KeptInput, InBf16GivesTheBitsOfTheSameFloats) {
  for (const Precision precision : {Precision::bf16, Precision::f32}) {
    const Tensor numbers = random_tensor({70, 33}, 1).to(DType::bf16), dy = random_tensor({70, 40}, 3);
    const Variable x(numbers, {.requires_grad = true}), floats(numbers.to(DType::f32), {.requires_grad = true});
    const Weight w = trained_in(precision), other = trained_in(precision);
    EXPECT_EQ(kept_type(numbers, w), precision == Precision::bf16 ? DType::bf16 : DType::f32);
    const Variable y = linear(x, w), wanted = linear(floats, other);
    EXPECT_TRUE(same_bits(y.value(), wanted.value()));
    y.backward(dy);
    wanted.backward(dy);
    EXPECT_TRUE(same_bits(w.master().grad(), other.master().grad()));
    EXPECT_TRUE(same_bits(x.grad(), floats.grad().to(DType::bf16)));
  }
}

TEST(KeptInput, OfAReluHasTheBitsOfItsGradient) {
  for (const int64_t n : {1, 7, 8, 9, 1000, 140'003}) {
    const Tensor y = relu(random_tensor({n}, 1)).value(), dy = random_tensor({n}, 2);
    EXPECT_TRUE(same_bits(PositiveNumbers(y).relu_gradient(dy), relu_gradient(y, dy))) << n;
  }
  const Variable x(random_tensor({70, 33}, 1), {.requires_grad = true});
  const Weight w = trained_in(Precision::bf16);
  const Variable y = linear<1>(x, {{{w, {}, /*relu=*/true}}})[0];
  const Tensor dy = random_tensor({70, 40}, 3), masked = relu_gradient(y.value(), dy);
  Tensor wanted = Tensor::empty({40, 33});
  w.gradient({masked.data<float>(), 70, 40}, {x.value().data<float>(), 70, 33}, wanted.data<float>());
  y.backward(dy);
  EXPECT_TRUE(same_bits(w.master().grad(), wanted));
}

}  // namespace qkv::kept_input_test
