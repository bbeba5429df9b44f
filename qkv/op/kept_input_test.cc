#include "qkv/op/kept_input.h"

#include <array>
#include <functional>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "qkv/kernel/kernels.h"
#include "qkv/op/activation.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/dropout.h"
#include "qkv/op/embedding.h"
#include "qkv/op/norm.h"
#include "qkv/op/shape.h"
#include "qkv/test_support/tensors.h"

namespace qkv::kept_input_test {

using namespace qkv::test;

Weight trained_in(Precision precision, const Shape& shape = {40, 33}) {
  const Weight w = Variable(random_tensor(shape, 2), {.requires_grad = true});
  w.train_in({.precision = precision});
  return w;
}

// (B,T), of a table of V rows
Tensor ids_of(int64_t B, int64_t T, int64_t V) {
  Tensor ids = Tensor::empty({B, T}, DType::i32);
  for (int64_t i = 0; i < B * T; ++i) ids.data<int32_t>()[i] = static_cast<int32_t>(i * 37 % V);
  return ids;
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

// The op that made x computes it again for the backward: x is freed, and the gradients have the bits that they have of a kept x.
TEST(KeptInput, IsComputedAgainWhereItsOpCan) {
  using Make = std::function<Variable(const Variable&)>;
  const Variable scale(random_tensor({33}, 4)), shift(random_tensor({33}, 5)), factor(random_tensor({70, 33}, 6)),
      positions(random_tensor({40, 33}, 7));
  const Tensor ids = ids_of(2, 35, 70);
  const std::pair<const char*, Make> ops[] = {
      {"layer_norm", [&](const Variable& x) { return layer_norm(x, scale, shift, 1e-5f); }},
      {"layer_norm without a bias", [&](const Variable& x) { return layer_norm(x, scale, {}, 1e-5f); }},
      {"rms_norm", [&](const Variable& x) { return rms_norm(x, scale, 1e-5f); }},
      {"embedding",
       [&](const Variable& x) {
         return embedding(ids, x, {.scale = 2, .positions = positions, .first_position = 3});
       }},
      {"layer_norm of an embedding",
       [&](const Variable& x) { return layer_norm(embedding(ids, x), scale, shift, 1e-5f); }},
      {"gelu", [&](const Variable& x) { return gelu(x); }},
      {"gate", [&](const Variable& x) { return multiply(silu(x), factor); }},
      {"dropout", [&](const Variable& x) { return dropout(silu(x), {.rate = 0.3f, .seed = 7}); }},
      {"reshape", [&](const Variable& x) {
         return reshape(rms_norm(x, scale, 1e-5f), {2, 35, 33});
       }}};
  for (const auto& [name, make] : ops)
    for (const Precision precision : {Precision::f32, Precision::bf16}) {
      const Variable x(random_tensor({70, 33}, 1), {.requires_grad = true});
      const Weight w = trained_in(precision), v = trained_in(precision), expected = trained_in(precision);
      Variable y = make(x);
      const Variable kept(y.value().clone(), {.requires_grad = true});
      const std::weak_ptr<Storage> of_y = y.value().storage();
      const auto [one, two] = linear<2>(y, {{{w, {}}, {v, {}}}});
      y = Variable();
      EXPECT_TRUE(of_y.expired()) << name;
      Shape shape = kept.shape();
      shape[shape.rank() - 1] = 40;
      const Tensor dy = random_tensor(shape, 3);
      add(one, two).backward(dy);
      linear(kept, expected).backward(dy);
      EXPECT_TRUE(same_bits(w.master().grad(), expected.master().grad())) << name;
      EXPECT_TRUE(same_bits(v.master().grad(), expected.master().grad())) << name;
      EXPECT_TRUE(x.grad().defined()) << name;
    }
}

TEST(KeptValue, OfANormIsComputedAgainWhereItsOpCan) {
  const auto leaf = [](const Tensor& x) { return Variable(x.clone(), {.requires_grad = true}); };
  using Norm = std::function<Variable(const Variable& x, const Variable& scale)>;
  const std::pair<const char*, Norm> norms[] = {
      {"layer_norm", [](const Variable& x, const Variable& w) { return layer_norm(x, w, {}, 1e-5f); }},
      {"rms_norm", [](const Variable& x, const Variable& w) { return rms_norm(x, w, 1e-5f); }}};
  for (const auto& [name, norm] : norms) {
    const Variable table = leaf(random_tensor({70, 33}, 1));
    Variable x = dropout(embedding(ids_of(2, 35, 70), table), {.rate = 0.3f, .seed = 7});
    const Variable same = leaf(x.value());
    const std::weak_ptr<Storage> of_x = x.value().storage();
    const Variable w = leaf(random_tensor({33}, 2)), expected = leaf(w.value());
    const Variable y = norm(x, w);
    x = Variable();
    EXPECT_TRUE(of_x.expired()) << name;
    const Tensor dy = random_tensor(y.shape(), 3);
    y.backward(dy);
    norm(same, expected).backward(dy);
    EXPECT_TRUE(same_bits(w.grad(), expected.grad())) << name;
    EXPECT_TRUE(table.grad().defined()) << name;
  }
}

TEST(KeptInput, IsTheValueOfAnOpThatCannotComputeItAgain) {
  const Variable x(random_tensor({70, 33}, 1), {.requires_grad = true});
  Variable y = add(x, x);
  EXPECT_FALSE(y.recomputation());
  const std::weak_ptr<Storage> of_y = y.value().storage();
  const Variable z = linear(y, trained_in(Precision::f32));
  y = Variable();
  EXPECT_FALSE(of_y.expired());
}

}  // namespace qkv::kept_input_test
