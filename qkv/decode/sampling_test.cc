#include "qkv/decode/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/base/threads.h"
#include "qkv/decode/overflow.h"
#include "qkv/test_support/tensors.h"

namespace qkv::sampling_test {

using namespace test;
using Ids = std::vector<int32_t>;
using Expected = std::vector<TokenProbability>;

constexpr float infinity = std::numeric_limits<float>::infinity();

// Step by step as the header has it, with a full sort for everything; 0 for forbidden tokens.
std::vector<double> reference(std::span<const float> logits, const Ids& history, const SamplingOptions& o) {
  const size_t V = logits.size();
  std::vector<double> x(logits.begin(), logits.end());
  for (const int32_t id : std::set<int32_t>(history.begin(), history.end())) {
    double& at = x[static_cast<size_t>(id)];
    at = at < 0 ? at * o.repetition_penalty : at / o.repetition_penalty;
  }
  const auto n = static_cast<size_t>(o.no_repeat_ngram);
  for (size_t v = 0; v < V && n > 0; ++v) {
    Ids now = history;
    now.push_back(static_cast<int32_t>(v));
    if (now.size() < n) continue;
    const Ids completed(now.end() - static_cast<std::ptrdiff_t>(n), now.end());
    const auto found = std::search(history.begin(), history.end(), completed.begin(), completed.end());
    if (found != history.end()) x[v] = -infinity;
  }
  for (const int32_t id : o.suppress_tokens) x[static_cast<size_t>(id)] = -infinity;
  for (double& at : x) at /= o.temperature;

  std::vector<double> sorted = x;
  std::sort(sorted.rbegin(), sorted.rend());
  const double kth = o.top_k == 0 ? -infinity : sorted[std::min(V, static_cast<size_t>(o.top_k)) - 1];
  for (double& at : x)
    if (at < kth) at = -infinity;
  const auto softmax = [&] {
    const double largest = *std::max_element(x.begin(), x.end());
    std::vector<double> p(V);
    for (size_t v = 0; v < V; ++v) p[v] = std::exp(x[v] - largest);
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& at : p) at /= sum;
    return p;
  };
  std::vector<size_t> ascending(V);
  std::iota(ascending.begin(), ascending.end(), size_t{0});
  std::stable_sort(ascending.begin(), ascending.end(), [&](size_t a, size_t b) { return x[a] < x[b]; });
  std::vector<double> p = softmax();
  double below = 0;
  for (size_t i = 0; i + 1 < V && o.top_p < 1; ++i)
    if ((below += p[ascending[i]]) <= 1 - o.top_p) x[ascending[i]] = -infinity;
  p = softmax();
  const double largest_p = *std::max_element(p.begin(), p.end());
  for (size_t v = 0; v < V; ++v)
    if (p[v] < o.min_p * largest_p) x[v] = -infinity;
  return softmax();
}

TEST(Sampling, TheDistributionEqualsThatOfAFullSortInDoublePrecision) {
  Random random(4);
  for (int round = 0; round < 2000; ++round) {
    const size_t V = 1 + random.below(60);
    std::vector<float> logits(V);  // multiples of 1/4: there are equal ones
    for (float& x : logits) x = static_cast<float>(random.below(40)) / 4 - 6;
    if (V > 1) logits[random.below(V)] = -infinity;
    Ids history(random.below(20));
    for (int32_t& id : history) id = static_cast<int32_t>(random.below(std::min<uint64_t>(V, 4)));
    const SamplingOptions options{.temperature = random.uniform(0.2, 2.0),
                                  .top_k = static_cast<int64_t>(random.below(V + 3)),
                                  .top_p = random.below(2) ? 1.0 : random.uniform(),
                                  .min_p = random.below(2) ? 0.0 : random.uniform(),
                                  .repetition_penalty = random.uniform(0.5, 2.0),
                                  .no_repeat_ngram = static_cast<int64_t>(random.below(4))};
    const std::vector<double> expected = reference(logits, history, options);
    if (std::isnan(expected[0])) {
      EXPECT_THROW(sampling_distribution(logits, history, options), Error);
      continue;
    }
    std::vector<double> got(V);
    for (const auto& [id, probability] : sampling_distribution(logits, history, options))
      got[static_cast<size_t>(id)] = probability;
    for (size_t v = 0; v < V; ++v) ASSERT_NEAR(got[v], expected[v], 1e-12) << "round " << round << " token " << v;
  }
}

// transformers 5.23, for example of the last but one:
//
//     x = torch.tensor([[2.0, -1.0, 0.5, 3.0, 3.0, -4.0, 1.25, 0.0, 2.0, -0.5]])
//     h = torch.tensor([[3, 1, 6, 3, 1, 8, 3, 1]])
//     for f in (RepetitionPenaltyLogitsProcessor(1.3), NoRepeatNGramLogitsProcessor(3), TemperatureLogitsWarper(0.7),
//               TopKLogitsWarper(6), TopPLogitsWarper(0.9), MinPLogitsWarper(0.05)): x = f(h, x)
//     print(torch.softmax(x.double(), -1))
TEST(Sampling, TheDistributionEqualsThatOfTransformers) {
  const std::vector<float> x = {2.0f, -1.0f, 0.5f, 3.0f, 3.0f, -4.0f, 1.25f, 0.0f, 2.0f, -0.5f};
  const Ids h = {3, 1, 6, 3, 1, 8, 3, 1};
  const auto expect = [&](const SamplingOptions& options, const Expected& expected) {
    const auto got = sampling_distribution(x, h, options);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].id, expected[i].id);
      EXPECT_NEAR(got[i].probability, expected[i].probability, 1e-6);
    }
  };
  const Expected bigrams = {{0, 0.144313}, {1, 0.007185}, {2, 0.032201}, {3, 0.392284},
                            {4, 0.392284}, {5, 0.000358}, {7, 0.019531}, {9, 0.011846}};
  const Expected four = {{0, 0.134471}, {3, 0.365529}, {4, 0.365529}, {8, 0.134471}};
  expect({.repetition_penalty = 1.5}, {{0, 0.166214},
                                       {1, 0.005019},
                                       {2, 0.037087},
                                       {3, 0.166214},
                                       {4, 0.451817},
                                       {5, 0.000412},
                                       {6, 0.051760},
                                       {7, 0.022495},
                                       {8, 0.085337},
                                       {9, 0.013644}});
  expect({.no_repeat_ngram = 1},
         {{0, 0.240309}, {2, 0.053620}, {4, 0.653227}, {5, 0.000596}, {7, 0.032522}, {9, 0.019726}});
  expect({.no_repeat_ngram = 2}, bigrams);
  expect({.no_repeat_ngram = 3}, bigrams);
  expect({.top_k = 3}, four);
  expect({.top_k = 1}, {{3, 0.5}, {4, 0.5}});
  expect({.top_p = 0.6}, {{3, 0.5}, {4, 0.5}});
  expect({.top_p = 0.2}, {{4, 1.0}});
  expect({.top_p = 1e-6}, {{4, 1.0}});
  expect({.min_p = 0.3}, four);
  expect({.min_p = 1.0}, {{3, 0.5}, {4, 0.5}});
  expect({.temperature = 0.7,
          .top_k = 6,
          .top_p = 0.9,
          .min_p = 0.05,
          .repetition_penalty = 1.3,
          .no_repeat_ngram = 3},
         {{0, 0.148704}, {3, 0.230793}, {4, 0.620503}});
  expect(
      {.temperature = 1.6, .top_k = 7, .top_p = 0.8, .min_p = 0.2, .repetition_penalty = 0.8, .no_repeat_ngram = 2},
      {{0, 0.170832}, {3, 0.510011}, {4, 0.319157}});
}

TEST(Sampling, OfEqualTokensTopPKeepsTheHigherIdsAndTopKAndMinPKeepAll) {
  const std::vector<float> x(10, 0.0f);
  const auto first_id = [&](const SamplingOptions& options) { return sampling_distribution(x, {}, options)[0].id; };
  for (int kept = 1; kept <= 10; ++kept) EXPECT_EQ(first_id({.top_p = kept / 10.0}), 10 - kept);
  EXPECT_EQ(first_id({.top_p = 0}), 9) << "one token is always kept";
  EXPECT_EQ(first_id({.top_k = 3}), 0);
  EXPECT_EQ(first_id({.min_p = 1.0}), 0);
}

TEST(Sampling, TemperatureZeroIsGreedyAfterThePenalties) {
  const Tensor x = Tensor::from({1.0f, 3.0f, 3.0f, 2.0f, 2.9f}, {1, 5});
  const Ids history = {1, 0, 1};
  const auto choose = [&](SamplingOptions options) {
    options.temperature = 0;
    return sample_tokens(x, std::vector<SamplingRow>{{.history = history}}, options)[0].id;
  };
  EXPECT_EQ(choose({}), 1) << "the lower id of equal ones";
  EXPECT_EQ(choose({.top_k = 2, .top_p = 0.1, .min_p = 0.9}), 1);
  EXPECT_EQ(choose({.suppress_tokens = {1, 2}}), 4);
  EXPECT_EQ(choose({.no_repeat_ngram = 1}), 2);  // each of its tokens
  EXPECT_EQ(choose({.no_repeat_ngram = 2}), 1);  // 0, which followed 1
  EXPECT_EQ(choose({.no_repeat_ngram = 1, .suppress_tokens = {2, 4}}), 3);
  EXPECT_EQ(choose({.repetition_penalty = 1.2}), 2);
  EXPECT_EQ(choose({.repetition_penalty = 1.2, .suppress_tokens = {2}}), 4);
  EXPECT_EQ(choose({.repetition_penalty = 0.5}), 1);
}

TEST(Sampling, TheLogProbabilityIsThatOfTheModel) {
  const Tensor x = random_tensor({3, 50}, 7, 4.0);
  const SamplingOptions options{.temperature = 2.0, .top_k = 5, .repetition_penalty = 1.5};
  const Ids history = {1, 2, 3};
  const std::vector<SamplingRow> rows(3, {.history = history});
  const auto chosen = sample_tokens(x, rows, options);
  for (int64_t r = 0; r < 3; ++r) {
    double sum = 0;
    for (int64_t v = 0; v < 50; ++v) sum += std::exp(static_cast<double>(x.at<float>({r, v})));
    const auto& [id, log_probability] = chosen[static_cast<size_t>(r)];
    EXPECT_NEAR(log_probability, x.at<float>({r, id}) - std::log(sum), 1e-5);
  }
}

// Pearson's test: with 7 degrees of freedom 24.3 is exceeded by chance once in a thousand seeds.
TEST(Sampling, AHundredThousandDrawsHaveTheProbabilities) {
  const std::vector<float> logits = {0.1f, 1.5f, -1.0f, 2.0f, -9.0f, 0.7f, 1.0f, -0.5f, 0.0f, 2.2f};
  const SamplingOptions options{.temperature = 1.3, .top_k = 8, .seed = 11};
  const auto expected = sampling_distribution(logits, {}, options);
  ASSERT_EQ(expected.size(), 8u);
  const int64_t R = 100, positions = 1000;
  Tensor x = Tensor::empty({R, 10});
  for (int64_t r = 0; r < R; ++r) std::copy(logits.begin(), logits.end(), x.data<float>() + r * 10);
  std::map<int32_t, int64_t> counts;
  std::vector<SamplingRow> rows(static_cast<size_t>(R));
  for (int64_t position = 0; position < positions; ++position) {
    for (int64_t r = 0; r < R; ++r)
      rows[static_cast<size_t>(r)] = {.stream = static_cast<uint64_t>(r), .position = position};
    for (const TokenChoice& choice : sample_tokens(x, rows, options)) ++counts[choice.id];
  }
  double statistic = 0;
  int64_t all = 0;
  for (const auto& [id, probability] : expected) {
    const double wanted = probability * R * positions, got = static_cast<double>(counts[id]);
    statistic += (got - wanted) * (got - wanted) / wanted;
    all += counts[id];
  }
  EXPECT_EQ(all, R * positions) << "no token that is cut away was drawn";
  EXPECT_LT(statistic, 24.3);
}

TEST(Sampling, ARowIsTheSameAmongAnyNeighborsAndOnAnyNumberOfThreads) {
  const int before = threads();
  const Tensor x = random_tensor({64, 301}, 3, 2.0);
  const SamplingOptions options{.top_p = 0.95, .seed = 3};
  std::vector<SamplingRow> rows(64);
  for (size_t r = 0; r < 64; ++r) rows[r] = {.stream = r, .position = 5};
  const auto ids = [&](const Tensor& logits, std::span<const SamplingRow> of_rows, SamplingOptions o) {
    Ids out;
    for (const TokenChoice& choice : sample_tokens(logits, of_rows, o)) out.push_back(choice.id);
    return out;
  };
  set_threads(1);
  const Ids one = ids(x, rows, options);
  set_threads(2);
  const Ids two = ids(x, rows, options);
  set_threads(before);
  EXPECT_EQ(one, two);
  EXPECT_EQ(ids(x.slice(0, 40, 41), std::span(rows).subspan(40, 1), options), (Ids{one[40]}));
  SamplingOptions other = options;
  other.seed = 4;
  EXPECT_NE(ids(x, rows, other), one);
  for (SamplingRow& row : rows) row.position = 6;
  EXPECT_NE(ids(x, rows, options), one);
}

TEST(Sampling, ErrorsNameTheRowAndTheArgument) {
  Tensor x = Tensor::zeros({2, 4});
  const std::vector<SamplingRow> rows(2);
  const auto message = [&](std::span<const SamplingRow> of_rows, const SamplingOptions& options) {
    try {
      sample_tokens(x, of_rows, options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message(rows, {}), "");
  for (const SamplingOptions& bad : std::vector<SamplingOptions>{{.temperature = -1},
                                                                 {.temperature = infinity},
                                                                 {.top_k = -1},
                                                                 {.top_p = 1.5},
                                                                 {.top_p = std::nan("")},
                                                                 {.min_p = -0.1},
                                                                 {.repetition_penalty = 0},
                                                                 {.no_repeat_ngram = -1}})
    EXPECT_THROW(sample_tokens(x, rows, bad), UsageError);
  const Ids outside = {0, 4};
  EXPECT_EQ(message(std::vector<SamplingRow>{{}, {.history = outside}}, {}),
            "sampling: row 1: token 4 of the history is outside the vocabulary of 4");
  EXPECT_EQ(message(rows, {.suppress_tokens = {-1}}),
            "sampling: token -1 of suppress_tokens is outside the vocabulary of 4");
  std::fill_n(x.data<float>() + 4, 4, -infinity);
  EXPECT_EQ(message(rows, {}), "sampling: row 1: all 4 tokens are forbidden");
  EXPECT_EQ(message(std::span(rows).first(1), {}),
            "sampling: logits must be contiguous f32 (R,V) with R rows of options, got f32 (2, 4) and 1 rows");
  x.data<float>()[5] = infinity;
  EXPECT_EQ(message(rows, {}), "sampling: row 1: the logit of token 1 is inf");
  x.data<float>()[5] = std::nanf("");
  EXPECT_EQ(message(rows, {.temperature = 0}), "sampling: row 1: the logit of token 1 is nan");
  EXPECT_THROW(sample_tokens(x, rows, {}), Overflow);
}

}  // namespace qkv::sampling_test
