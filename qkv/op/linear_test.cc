#include "qkv/op/linear.h"

#include "qkv/op/activation.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/embedding.h"
#include "qkv/tensor/storage.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::linear_test {

using namespace test;

using Row = std::vector<double>;

// No bias: b is empty.
Row formula(const Row& x, const Row& w, const Row& b, int64_t K) {
  const int64_t M = static_cast<int64_t>(x.size()) / K, N = static_cast<int64_t>(w.size()) / K;
  Row y(static_cast<size_t>(M * N));
  for (int64_t m = 0; m < M; ++m)
    for (int64_t n = 0; n < N; ++n) {
      double sum = b.empty() ? 0 : b[n];
      for (int64_t k = 0; k < K; ++k) sum += x[m * K + k] * w[n * K + k];
      y[m * N + n] = sum;
    }
  return y;
}

TEST(Linear, EqualsItsFormulaWithAndWithoutBias) {
  struct Sizes {
    Shape rows;
    int64_t K, N;
  };
  for (const auto& [rows, K, N] :
       {Sizes{{2, 3}, 4, 5}, {{1}, 1, 1}, {{}, 3, 2}, {{0}, 3, 2}, {{7}, 19, 3}, {{2, 1, 2}, 5, 17}}) {
    Shape shape = rows;
    shape.push_back(K);
    const Tensor x = random_tensor(shape, 1), w = random_tensor({N, K}, 2), b = random_tensor({N}, 3);
    check_op(
        "with bias", {x, w, b}, [](const Variables& v) { return linear(v[0], v[1], v[2]); },
        [K = K](const Doubles& d) { return formula(d[0], d[1], d[2], K); });
    check_op(
        "without", {x, w}, [](const Variables& v) { return linear(v[0], v[1]); },
        [K = K](const Doubles& d) { return formula(d[0], d[1], {}, K); });
  }
}

TEST(Linear, PacksAWeightAgainWhenItHasChanged) {
  const Variable x(random_tensor({3, 4}, 1), {.requires_grad = true});
  Variable w(random_tensor({5, 4}, 2), {.requires_grad = true});
  linear(x, w).backward(random_tensor({3, 5}, 3));
  w.mutable_value().copy_from(random_tensor({5, 4}, 4));
  const Variable again(random_tensor({5, 4}, 4));
  EXPECT_TRUE(same_bits(linear(x, w).value(), linear(x, again).value()));
  Variable x1(random_tensor({3, 4}, 1), {.requires_grad = true}),
      x2(random_tensor({3, 4}, 1), {.requires_grad = true});
  linear(x1, w).backward(random_tensor({3, 5}, 3));
  linear(x2, again).backward(random_tensor({3, 5}, 3));
  EXPECT_TRUE(same_bits(x1.grad(), x2.grad()));
}

TEST(Linear, AWeightTiedToAnEmbeddingGetsBothGradients) {
  const Tensor ids = Tensor::from(std::vector<int32_t>{2, 0, 2}, {1, 3});
  check_op(
      "tied", {random_tensor({4, 3}, 1)},
      [&](const Variables& v) { return linear(embedding(ids, v[0], {.scale = 1.5f}), v[0]); },
      [](const Doubles& d) {
        const int64_t rows[] = {2, 0, 2};
        Row x;
        for (const int64_t row : rows)
          for (int64_t c = 0; c < 3; ++c) x.push_back(1.5 * d[0][row * 3 + c]);
        return formula(x, d[0], {}, 3);
      });
}

TEST(Linear, LayersOfOneInputHaveTheResultsAndGradientsOfEachAlone) {
  const auto leaf = [](const Shape& shape, uint64_t seed) {
    return Variable(random_tensor(shape, seed), {.requires_grad = true});
  };
  struct Given {
    Variable x, w1, w2, b1;
  };
  const auto given = [&] { return Given{leaf({3, 2, 8}, 1), leaf({5, 8}, 2), leaf({4, 8}, 3), leaf({5}, 4)}; };
  Given a = given(), b = given();
  const Variable y1 = linear(a.x, a.w1, a.b1), y2 = linear(a.x, a.w2);
  const auto [z1, none, z2] = linear<3>(b.x, {{{b.w1, b.b1}, {}, {b.w2}}});
  EXPECT_FALSE(none.defined());
  EXPECT_TRUE(same_bits(z1.value(), y1.value()) && same_bits(z2.value(), y2.value()));
  for (const auto& [results, of] : {std::pair{std::array{y1, y2}, &a}, {std::array{z1, z2}, &b}}) {
    add(sum(multiply(results[0], results[0])), sum(multiply(results[1], results[1]))).backward();
    EXPECT_EQ(of->w2.grad().shape(), (Shape{4, 8}));
  }
  EXPECT_TRUE(same_bits(a.x.grad(), b.x.grad()) && same_bits(a.w1.grad(), b.w1.grad()));
  EXPECT_TRUE(same_bits(a.w2.grad(), b.w2.grad()) && same_bits(a.b1.grad(), b.b1.grad()));
}

TEST(Linear, WithReluHasTheBitsAndGradientsOfBothSteps) {
  const auto leaf = [](const Shape& shape, uint64_t seed) {
    return Variable(random_tensor(shape, seed), {.requires_grad = true});
  };
  const Variable x1 = leaf({3, 32}, 1), x2 = leaf({3, 32}, 1), w = leaf({20, 32}, 2), b = leaf({20}, 3);
  const auto in_one = [&](const Variable& x, const Weight& weight) {
    return linear<1>(x, {{{weight, b, true}}})[0];
  };
  const Variable y1 = relu(linear(x1, w, b)), y2 = in_one(x2, w);
  EXPECT_TRUE(same_bits(y1.value(), y2.value()));
  const Tensor dy = random_tensor({3, 20}, 4);
  y1.backward(dy), y2.backward(dy);
  EXPECT_TRUE(same_bits(x1.grad(), x2.grad()));
  const NoGrad guard;
  for (const WeightFormat format :
       {WeightFormat::f32, WeightFormat::bf16, WeightFormat::int8, WeightFormat::q4_0}) {
    const Weight packed = Weight::packed(w.value(), format);
    EXPECT_TRUE(same_bits(in_one(x1, packed).value(), relu(linear(x1, packed, b)).value()));
  }
  const Weight in_place = Weight::in_place(w.value());
  EXPECT_TRUE(same_bits(in_one(x1, in_place).value(), relu(linear(x1, in_place, b)).value()));
}

TEST(Linear, TakesMoreLayersThanRunAtATime) {
  const Variable x = random_tensor({2, 8}, 1);
  std::vector<Weight> weights;
  for (uint64_t i = 0; i < 11; ++i) weights.emplace_back(random_tensor({3, 8}, i));
  const std::vector<WeightAndBias> layers(weights.begin(), weights.end());
  std::vector<Variable> results(layers.size());
  linear(x, layers, results);
  for (size_t i = 0; i < layers.size(); ++i)
    EXPECT_TRUE(same_bits(results[i].value(), linear(x, weights[i]).value())) << i;
}

TEST(Linear, OfNoOutputsHasAGradientOfZero) {
  const Variable x(random_tensor({2, 3}, 1), {.requires_grad = true});
  const Variable w(Tensor::zeros({0, 3}), {.requires_grad = true});
  const Variable y = linear(x, w);
  EXPECT_EQ(y.shape(), (Shape{2, 0}));
  y.backward(Tensor::zeros({2, 0}));
  EXPECT_TRUE(same_bits(x.grad(), Tensor::zeros({2, 3})));
  EXPECT_EQ(w.grad().shape(), (Shape{0, 3}));
}

TEST(Linear, RejectsShapesThatDoNotAgree) {
  const Variable x = Tensor::zeros({2, 3}), w = Tensor::zeros({5, 4});
  EXPECT_EQ(error_of([&] { linear(x, w); }),
            "linear: x (..., K) is (2, 3), w (N, K) is (5, 4): K must agree and be positive");
  EXPECT_NE(error_of([&] { linear(Tensor::zeros({2, 0}), Tensor::zeros({3, 0})); }), "no error");
  EXPECT_EQ(error_of([&] {
              linear(Tensor::zeros({2, 4}), w, Tensor::zeros({4}));
            }),
            "linear: w (N, K) is (5, 4), b (N) is (4): N must agree");
}

TEST(Linear, ReadsABiasThatMustNotBeWritten) {
  Tensor values = random_tensor({3}, 1);
  const Tensor bias =
      Tensor::view(Storage::borrow(values.data<float>(), 12, values.storage(), false), DType::f32, {3}, {1}, 0);
  const Tensor x = random_tensor({2, 4}, 2), w = random_tensor({3, 4}, 3);
  EXPECT_TRUE(same_bits(linear(x, w, bias).value(), linear(x, w, values).value()));
}

}  // namespace qkv::linear_test
