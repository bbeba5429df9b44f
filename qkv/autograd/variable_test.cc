#include "qkv/autograd/variable.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::variable_test {

using List = std::vector<float>;

List values(const Tensor& x) {
  const Tensor packed = x.contiguous_copy();
  const std::span<const float> span = std::as_const(packed).span<float>();
  return {span.begin(), span.end()};
}

Variable leaf(const List& numbers) {
  return Variable(Tensor::from(numbers, {static_cast<int64_t>(numbers.size())}), {.requires_grad = true});
}

Tensor map(const Tensor& a, const Tensor& b, float (*f)(float, float)) {
  Tensor out = Tensor::empty(a.shape());
  for (int64_t i = 0; i < a.numel(); ++i) out.data<float>()[i] = f(a.at<float>({i}), b.at<float>({i}));
  return out;
}
float times(float x, float y) { return x * y; }
float plus(float x, float y) { return x + y; }

// The two ops of these tests. add passes its gradient on as it is: one tensor for both inputs.
Variable add(const Variable& a, const Variable& b) {
  return record("add", {a, b}, map(a.value(), b.value(), plus),
                [](const Tensor& grad, const std::vector<bool>&) -> std::vector<Tensor> {
                  return {grad, grad};
                });
}
Variable multiply(const Variable& a, const Variable& b) {
  return record("multiply", {a, b}, map(a.value(), b.value(), times),
                [x = a.value(), y = b.value()](const Tensor& grad, const std::vector<bool>& needs) {
                  return std::vector<Tensor>{needs[0] ? map(grad, y, times) : Tensor(),
                                             needs[1] ? map(grad, x, times) : Tensor()};
                });
}

TEST(Variable, AGradientIsTheDerivative) {
  const Variable a = leaf({2, 3}), b = leaf({5, 7});
  multiply(a, b).backward(Tensor::from({1, 10}, {2}));
  EXPECT_EQ(values(a.grad()), (List{5, 70}));
  EXPECT_EQ(values(b.grad()), (List{2, 30}));
}

TEST(Variable, GradientsAccumulateUntilZeroGrad) {
  Variable a = leaf({3});
  multiply(a, a).backward();
  EXPECT_EQ(values(a.grad()), (List{6}));
  multiply(a, a).backward();
  EXPECT_EQ(values(a.grad()), (List{12}));
  a.zero_grad();
  EXPECT_FALSE(a.grad().defined());
  EXPECT_THROW(a.mutable_grad(), Error);
  multiply(a, a).backward();
  EXPECT_EQ(values(a.grad()), (List{6}));
}

// y = (a + b)(a + b) + (a + b), where a + b is one value: dy/da = 2(a + b) + 1.
TEST(Variable, ADiamondSumsItsPaths) {
  const Variable a = leaf({2}), b = leaf({3});
  const Variable s = add(a, b);
  add(multiply(s, s), s).backward();
  EXPECT_EQ(values(a.grad()), (List{11}));
  EXPECT_EQ(values(b.grad()), (List{11}));
}

// A tensor that an op hands to two inputs must not be written through either.
TEST(Variable, ASharedGradientIsCopiedBeforeItIsWritten) {
  const Variable a = leaf({1}), b = leaf({1});
  const Variable left = add(a, b), right = add(a, b);  // their gradients arrive as one tensor
  add(add(left, right), left).backward();
  EXPECT_EQ(values(a.grad()), (List{3}));
  EXPECT_EQ(values(b.grad()), (List{3}));
  Variable first = a;
  first.mutable_grad().fill(100);
  EXPECT_EQ(values(b.grad()), (List{3}));

  const Variable c = leaf({1});
  const Tensor upstream = Tensor::from({1}, {1});
  add(c, c).backward(upstream);
  EXPECT_EQ(values(c.grad()), (List{2}));
  EXPECT_EQ(values(upstream), (List{1})) << "the caller's tensor was written";
}

TEST(Variable, OnlyNeededGradientsAreComputed) {
  const Variable a = leaf({2}), constant(Tensor::from({3}, {1}));
  std::vector<bool> asked;
  const Variable y = record("op", {a, constant}, Tensor::from({1}, {1}),
                            [&](const Tensor& grad, const std::vector<bool>& needs) -> std::vector<Tensor> {
                              asked = needs;
                              return {grad, Tensor()};
                            });
  y.backward();
  EXPECT_EQ(asked, (std::vector<bool>{true, false}));
  EXPECT_EQ(values(a.grad()), (List{1}));
  EXPECT_FALSE(constant.requires_grad());
  EXPECT_FALSE(add(constant, constant).requires_grad());
}

TEST(Variable, AnUndefinedGradientMeansZero) {
  const Variable a = leaf({2}), b = leaf({2});
  const Variable hidden = multiply(a, a);
  record("op", {hidden, b}, Tensor::from({1}, {1}),
         [](const Tensor& grad, const std::vector<bool>&) -> std::vector<Tensor> {
           return {Tensor(), grad};
         })
      .backward();
  EXPECT_FALSE(a.grad().defined());
  EXPECT_EQ(values(b.grad()), (List{1}));
}

TEST(Variable, NothingIsRecordedInsideNoGrad) {
  const Variable a = leaf({2});
  {
    const NoGrad outer;
    { const NoGrad inner; }
    EXPECT_FALSE(recording(std::span(&a, 1)));
    EXPECT_FALSE(multiply(a, a).requires_grad());
  }
  EXPECT_TRUE(multiply(a, a).requires_grad());
}

TEST(Variable, ASecondBackwardIsAnErrorThatNamesTheOp) {
  const Variable a = leaf({2});
  const Variable y = multiply(a, a);
  y.backward();
  try {
    y.backward();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, 37), "multiply: backward() was called twice");
  }
}

TEST(Variable, WrongGradientsAreRejected) {
  const Variable a = leaf({1, 2}), constant(Tensor::zeros({2}));
  EXPECT_THROW(add(a, a).backward(), Error) << "not a scalar";
  EXPECT_THROW(add(a, a).backward(Tensor::zeros({3})), Error) << "another shape";
  EXPECT_THROW(constant.backward(Tensor::zeros({2})), Error) << "nothing to differentiate";
  EXPECT_THROW(Variable(Tensor::zeros({2}, DType::i32), {.requires_grad = true}), Error);
  const Variable few =
      record("few", {a, a}, Tensor::from({1}, {1}),
             [](const Tensor& grad, const std::vector<bool>&) { return std::vector<Tensor>{grad}; });
  EXPECT_THROW(few.backward(), Error);
}

TEST(Variable, OnlyALeafMayBeWrittenAndEveryWriteIncrementsItsVersion) {
  Variable a = leaf({2});
  const uint64_t before = a.version();
  a.mutable_value().fill(4);
  EXPECT_EQ(a.version(), before + 1);
  Variable y = multiply(a, a);
  EXPECT_EQ(values(y.value()), (List{16}));
  EXPECT_THROW(y.mutable_value(), Error);
}

TEST(Variable, BackwardTellsWhichLeavesAreComplete) {
  Variable first = leaf({2}), last = leaf({3}), unused = leaf({1}), other = leaf({5}),
           constant(Tensor::from({7}, {1}));
  // `first` is used by the oldest node and by the newest: complete when the oldest is done.
  const Variable y = multiply(multiply(multiply(first, constant), last), first);
  const std::vector<Variable> leaves = {first, last, unused, constant};
  std::vector<std::pair<size_t, float>> told;
  y.backward(leaves, [&](size_t i) {
    told.emplace_back(i, leaves[i].grad().defined() ? leaves[i].grad().at<float>({0}) : 0.0f);
  });
  EXPECT_EQ(told, (std::vector<std::pair<size_t, float>>{{2, 0}, {1, 2 * 7 * 2}, {0, 2 * 2 * 7 * 3}}));
  // A use that no gradient reaches: when all is done.
  const Variable ends = record("ends", {multiply(other, last)}, Tensor::from({1}, {1}),
                               [](const Tensor&, const std::vector<bool>&) { return std::vector<Tensor>(1); });
  told.clear();
  add(ends, last).backward(std::vector<Variable>{other}, [&](size_t i) { told.emplace_back(i, 0); });
  EXPECT_EQ(std::ssize(told), 1);
  EXPECT_FALSE(other.grad().defined());
}

// backward() frees what an op saved as soon as it has visited it.
TEST(Variable, BackwardFreesWhatWasSaved) {
  const Variable a = leaf({2});
  auto saved = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = saved;
  const Variable y =
      record("op", {a}, Tensor::from({1}, {1}),
             [saved](const Tensor& grad, const std::vector<bool>&) { return std::vector<Tensor>{grad}; });
  saved.reset();
  EXPECT_FALSE(watch.expired());
  y.backward();
  EXPECT_TRUE(watch.expired());
}

TEST(Variable, AChainOfTwoHundredThousandDoesNotOverflowTheStack) {
  const Variable a = leaf({1});
  const auto chain = [&] {
    Variable y = a;
    for (int i = 0; i < 200'000; ++i) y = add(y, a);
    return y;
  };
  chain().backward();
  EXPECT_EQ(values(a.grad()), (List{200'001}));
  { const Variable without_backward = chain(); }
  Variable kept = chain();
  kept.backward();
  kept = Variable();
}

TEST(Variable, HoldsHowItIsComputedAgainUntilItsBackwardHasRun) {
  const auto doubled = [](const Variable& x) {
    Variable y = record(
        "double", {x}, Tensor::full({1}, 2 * x.value().at<float>({0})),
        [](const Tensor&, const std::vector<bool>&) { return std::vector<Tensor>{Tensor::full({1}, 2.0f)}; });
    return std::move(y).recomputed_by([x = x.value()] { return Tensor::full({1}, 2 * x.at<float>({0})); });
  };
  const Variable x(Tensor::full({1}, 3.0f), {.requires_grad = true});
  const Variable y = doubled(x);
  ASSERT_TRUE(y.recomputation());
  EXPECT_EQ(y.recomputation()().at<float>({0}), 6.0f);
  y.backward();
  EXPECT_FALSE(y.recomputation());
  EXPECT_FALSE(doubled(Variable(Tensor::full({1}, 3.0f))).recomputation()) << "nothing was recorded";
}

std::vector<float> numbers(const Tensor& x) { return {x.span<float>().begin(), x.span<float>().end()}; }

// y = x[0], whose gradient is added to that of x.
Variable first_of(const Variable& x) {
  return record("first_of", {x}, Tensor::full({1}, x.value().at<float>({0})),
                [](const Tensor&, const std::vector<bool>& needs) { return std::vector<Tensor>(needs.size()); })
      .adding_to_first([](const Tensor& grad, Tensor& sum) { sum.data<float>()[0] += grad.at<float>({0}); });
}

TEST(Variable, AnOpMayAddToTheGradientOfALeaf) {
  const Variable x(Tensor::from({3.0f, 4.0f}, {2}), {.requires_grad = true});
  first_of(x).backward(Tensor::full({1}, 5.0f));
  EXPECT_EQ(numbers(x.grad()), (std::vector<float>{5, 0}));
  first_of(x).backward(Tensor::full({1}, 2.0f));
  EXPECT_EQ(numbers(x.grad()), (std::vector<float>{7, 0}));
  EXPECT_FALSE(first_of(Variable(Tensor::full({2}, 3.0f))).requires_grad()) << "nothing was recorded";
}

// The sum that it adds to may be the gradient of another value too, which keeps its own.
TEST(Variable, AnOpMayAddToTheGradientOfAResult) {
  const Variable a(Tensor::from({3.0f, 4.0f}, {2}), {.requires_grad = true});
  const auto passes_on = [](const Variable& x, std::vector<Variable> inputs) {
    return record("passes_on", inputs, x.value().clone(), [](const Tensor& grad, const std::vector<bool>& needs) {
      return std::vector<Tensor>(needs.size(), grad);
    });
  };
  const Variable other(Tensor::zeros({2}), {.requires_grad = true});
  const Variable x = passes_on(a, {a}), y = passes_on(x, {x, other});  // x and `other` receive the same tensor
  const Variable both =
      record("both", {y, first_of(x)}, Tensor::zeros({1}), [](const Tensor&, const std::vector<bool>&) {
        return std::vector<Tensor>{Tensor::full({2}, 1.0f), Tensor::full({1}, 10.0f)};
      });
  both.backward();
  EXPECT_EQ(numbers(a.grad()), (std::vector<float>{11, 1}));
  EXPECT_EQ(numbers(other.grad()), (std::vector<float>{1, 1}));
}

TEST(Variable, OfAConstantIsTheSameAsAnotherOfTheSameView) {
  const Tensor x = Tensor::from({1, 2, 3, 4}, {2, 2});
  EXPECT_TRUE(Variable(x) == Variable(x));
  EXPECT_FALSE(Variable(x) == Variable(x.transpose(0, 1)));
  EXPECT_FALSE(Variable(x) == Variable(x.clone()));
  EXPECT_FALSE(Variable(x) == Variable(x, {.requires_grad = true}));
  EXPECT_TRUE(Variable() == Variable());
  Variable constant(x);
  const Variable copy = constant;
  constant.mutable_value() = Tensor::full({1}, 5.0f);
  EXPECT_EQ(copy.shape(), x.shape()) << "a constant is not shared";
  EXPECT_EQ(constant.version(), 1u);
}

}  // namespace qkv::variable_test
