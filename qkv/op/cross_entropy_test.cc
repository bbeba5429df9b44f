#include "qkv/op/cross_entropy.h"

#include "qkv/op/arithmetic.h"
#include "qkv/op/linear.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::cross_entropy_test {

using namespace test;
using Reduction = CrossEntropyOptions::Reduction;

std::vector<double> log_softmax(const double* x, int64_t V) {
  const double maximum = *std::max_element(x, x + V);
  double total = 0;
  for (int64_t c = 0; c < V; ++c) total += std::exp(x[c] - maximum);
  std::vector<double> result(x, x + V);
  for (double& value : result) value -= maximum + std::log(total);
  return result;
}

std::vector<double> token_losses(const std::vector<double>& logits, int64_t V, const std::vector<int32_t>& targets,
                                 const CrossEntropyOptions& options) {
  const size_t passes = options.r_drop > 0 ? 2 : 1;
  std::vector<double> losses(targets.size() / passes);
  const double e = options.label_smoothing;
  for (size_t n = 0; n < losses.size(); ++n) {
    if (targets[n] == options.ignore_index) continue;
    const std::vector<double> p = log_softmax(&logits[n * V], V);
    const std::vector<double> q = log_softmax(&logits[(n + (passes - 1) * losses.size()) * V], V);
    for (const std::vector<double>& log_probabilities : {p, q}) {
      double sum = 0;
      for (double value : log_probabilities) sum += value;
      losses[n] -= ((1 - e) * log_probabilities[targets[n]] + e / V * sum) / 2;
    }
    for (int64_t c = 0; c < V; ++c)
      losses[n] += options.r_drop / 4 * (std::exp(p[c]) - std::exp(q[c])) * (p[c] - q[c]);
  }
  return losses;
}

double reduced(const std::vector<double>& losses, const std::vector<int32_t>& targets,
               const CrossEntropyOptions& options) {
  double total = 0;
  int64_t count = 0;
  for (size_t n = 0; n < losses.size(); ++n) {
    total += losses[n];
    count += targets[n] != options.ignore_index;
  }
  return options.reduction == Reduction::mean ? total / static_cast<double>(std::max<int64_t>(count, 1)) : total;
}

struct Setting {
  std::vector<int32_t> targets;
  CrossEntropyOptions options;
};

const Setting settings[] = {
    {{3, 0, 6, 6}, {}},
    {{3, 0, 6, 6}, {.label_smoothing = 0.1f, .reduction = Reduction::sum}},
    {{0, 2, 0, 5, 1}, {.label_smoothing = 0.2f, .ignore_index = 0}},
    {{1, -100, 2}, {.ignore_index = -100, .reduction = Reduction::sum}},
    {{4}, {.label_smoothing = 0.5f}},
    {{-1, -1}, {.label_smoothing = 0.1f}},
    {{}, {}},
    {{3, 0, 6, 3, 0, 6}, {.r_drop = 5.0f}},
    {{0, 2, 0, 2}, {.label_smoothing = 0.1f, .ignore_index = 0, .r_drop = 0.5f, .reduction = Reduction::sum}},
    {{}, {.r_drop = 1.0f}},
};

int64_t tokens_of(const Setting& setting) {
  const auto& [targets, options] = setting;
  return std::count_if(targets.begin(), targets.end(), [&](int32_t t) { return t != options.ignore_index; }) /
         (options.r_drop > 0 ? 2 : 1);
}

Tensor ids(const std::vector<int32_t>& values) {
  return Tensor::from(values, {static_cast<int64_t>(values.size())});
}

TEST(CrossEntropy, EqualsItsFormula) {
  for (const auto& [targets, options] : settings) {
    const Tensor logits = random_tensor({static_cast<int64_t>(targets.size()), 7}, 1, 3.0);
    check_op(
        fmt::format("{} targets", targets.size()), {logits},
        // Twice the loss: the upstream gradient counts too.
        [&, t = targets, o = options](const Variables& v) {
          return scale(cross_entropy(v[0], ids(t), o).loss, 2.0f);
        },
        [&, t = targets, o = options](const Doubles& d) {
          return std::vector<double>{2 * reduced(token_losses(d[0], 7, t, o), t, o)};
        });
    const CrossEntropy result = cross_entropy(logits, ids(targets), options);
    expect_close(result.token_losses, token_losses(doubles(logits), 7, targets, options), 1e-6, "token losses");
    EXPECT_EQ(result.count, tokens_of({targets, options}));
  }
}

TEST(LinearCrossEntropy, EqualsTheLossOfTheProduct) {
  for (const auto& [targets, options] : settings) {
    const auto N = static_cast<int64_t>(targets.size());
    check_op(
        fmt::format("{} targets", N), {random_tensor({N, 4}, 1), random_tensor({7, 4}, 2), random_tensor({7}, 3)},
        [&, t = targets, o = options](const Variables& v) {
          return scale(linear_cross_entropy(v[0], {v[1], v[2]}, ids(t), o).loss, 2.0f);
        },
        [&, t = targets, o = options](const Doubles& d) {
          std::vector<double> logits(t.size() * 7);
          for (size_t i = 0; i < logits.size(); ++i)
            for (size_t c = 0; c < 4; ++c) logits[i] += d[0][i / 7 * 4 + c] * d[1][i % 7 * 4 + c];
          for (size_t i = 0; i < logits.size(); ++i) logits[i] += d[2][i % 7];
          return std::vector<double>{2 * reduced(token_losses(logits, 7, t, o), t, o)};
        });
  }
}

struct PiecesCase {
  const char* name;
  int64_t N, C, V;
  float r_drop;
};

class LinearCrossEntropyInPieces : public ::testing::TestWithParam<PiecesCase> {};

TEST_P(LinearCrossEntropyInPieces, EqualsTheTwoOpsItReplaces) {
  const auto [name, N, C, V, r_drop] = GetParam();
  std::vector<int32_t> targets;
  for (int64_t n = 0; n < N; ++n) targets.push_back(static_cast<int32_t>(n % (N / 2) * 7 % V));
  const CrossEntropyOptions options{.label_smoothing = 0.1f, .ignore_index = 3, .r_drop = r_drop};
  const auto run = [&](auto loss) {
    const Variable x(random_tensor({N, C}, 1), {.requires_grad = true}),
        w(random_tensor({V, C}, 2), {.requires_grad = true});
    const CrossEntropy result = loss(x, w);
    result.loss.backward();
    return std::vector<Tensor>{result.loss.value(), result.token_losses, x.grad(), w.grad()};
  };
  const auto whole = run([&](auto x, auto w) { return cross_entropy(linear(x, w), ids(targets), options); });
  const auto pieces = run([&](auto x, auto w) { return linear_cross_entropy(x, {w}, ids(targets), options); });
  for (size_t i = 0; i < whole.size(); ++i) expect_close(pieces[i], doubles(whole[i]), 2e-6, std::to_string(i));
}
INSTANTIATE_TEST_SUITE_P(Of, LinearCrossEntropyInPieces,
                         ::testing::Values(PiecesCase{"Tokens", 2500, 8, 40, 0.0f},
                                           PiecesCase{"RDrop", 2500, 8, 40, 5.0f},
                                           PiecesCase{"ALargeWeight", 140, 130, 33'000, 0.0f}),  // is not packed
                         [](const auto& test) { return std::string(test.param.name); });

TEST(CrossEntropy, TwoEqualPassesHaveTheLossOfOne) {
  const Tensor once = random_tensor({3, 7}, 1, 3.0);
  Tensor twice = Tensor::empty({6, 7});
  for (int64_t i = 0; i < 21; ++i) twice.data<float>()[i] = twice.data<float>()[21 + i] = once.data<float>()[i];
  const CrossEntropy one = cross_entropy(once, ids({1, 2, 3}));
  const CrossEntropy two = cross_entropy(twice, ids({1, 2, 3, 1, 2, 3}), {.r_drop = 5.0f});
  EXPECT_EQ(one.count, two.count);
  expect_close(two.token_losses, doubles(one.token_losses), 1e-7, "token losses");
}

TEST(CrossEntropy, IsStableForLargeLogits) {
  const Tensor losses =
      cross_entropy(Tensor::from({1e4f, -1e4f, 0, -1e4f, 1e4f, 0}, {2, 3}), ids({0, 0})).token_losses;
  EXPECT_NEAR(losses.at<float>({0}), 0, 1e-6);
  EXPECT_FLOAT_EQ(losses.at<float>({1}), 2e4f);
}

TEST(CrossEntropy, RejectsInvalidTargetsAndOptions) {
  const Variable logits = Tensor::zeros({2, 5});
  EXPECT_EQ(error_of([&] {
              cross_entropy(logits, ids({1, 5}));
            }),
            "cross_entropy: target 5 of token 1 is not one of V 5 classes");
  EXPECT_EQ(error_of([&] { cross_entropy(logits, ids({1})); }),
            "cross_entropy: targets are i32 (1), expected i32 (N 2)");
  EXPECT_EQ(error_of([&] {
              cross_entropy(logits, ids({1, 2}), {.label_smoothing = 1.0f});
            }),
            "cross_entropy: label smoothing must be in [0, 1), got 1");
  EXPECT_EQ(error_of([&] {
              cross_entropy(logits, ids({1, 2}), {.r_drop = 1.0f});
            }),
            "cross_entropy: R-Drop: the target of token 0 is 1 in one pass and 2 in the other");
  EXPECT_EQ(error_of([&] {
              cross_entropy(Tensor::zeros({3, 5}), ids({1, 2, 1}), {.r_drop = 1.0f});
            }),
            "cross_entropy: R-Drop needs two rows for every token, got N 3");
  EXPECT_EQ(error_of([&] {
              cross_entropy(logits, ids({1, 1}), {.r_drop = -1.0f});
            }),
            "cross_entropy: the weight of R-Drop must be 0 or more, got -1");
  EXPECT_EQ(error_of([&] {
              linear_cross_entropy(logits, {Tensor::zeros({3, 4})}, ids({1, 2}));
            }),
            "linear_cross_entropy: x (N,C) is (2, 5), w (V,C) is (3, 4): C must agree");
  EXPECT_EQ(error_of([&] {
              linear_cross_entropy(logits, {Tensor::zeros({3, 5}), Tensor::zeros({4})}, ids({1, 2}));
            }),
            "linear_cross_entropy: w (V,C) is (3, 5), b (V) is (4): V must agree");
}

}  // namespace qkv::cross_entropy_test
