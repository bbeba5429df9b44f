// The guarantees of attention, for every score.
#include "qkv/attention/score/score.h"

#include "qkv/attention/attention.h"
#include "qkv/attention/explain.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/packed.h"
#include "qkv/attention/score/additive.h"
#include "qkv/attention/score/bilinear.h"
#include "qkv/attention/score/cosine.h"
#include "qkv/attention/score/distance.h"
#include "qkv/attention/score/dot.h"
#include "qkv/attention/score/location.h"
#include "qkv/base/threads.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::score_test {

using namespace test;

constexpr int64_t D = 6, F = 5;  // one width: one set of queries and keys serves every score

std::vector<ScorePtr> scores() {
  return {scaled_dot(),
          dot(0.5f),
          additive(random_tensor({F, D}, 1), random_tensor({F, D}, 2), random_tensor({F}, 3)),
          concat(random_tensor({F, 2 * D}, 4), random_tensor({F}, 5)),
          bilinear(random_tensor({D, D}, 6, 0.5)),
          cosine(4),
          distance(),
          gaussian(1.5f),
          location(random_tensor({200, D}, 7))};
}

// The results and gradients of a call.
std::vector<Tensor> results(const ScorePtr& score, const std::vector<Tensor>& x, const MaskPtr& mask) {
  const Variable q(x[0], {.requires_grad = true}), k(x[1], {.requires_grad = true}),
      v(x[2], {.requires_grad = true});
  const auto [out, weights, lse] = attention_with_weights(q, k, v, {.score = score, .mask = mask});
  out.backward(x[3]);
  std::vector<Tensor> all = {out.value(), weights, lse, q.grad(), v.grad()};
  if (k.grad().defined()) all.push_back(k.grad());  // location does not read k
  return all;
}

std::vector<Tensor> inputs(int64_t B = 2) {
  return {random_tensor({B, 4, 70, D}, 11), random_tensor({B, 2, 150, D}, 12), random_tensor({B, 2, 150, 3}, 13),
          random_tensor({B, 4, 70, 3}, 14)};
}

void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted, const ScorePtr& score) {
  for (size_t n = 0; n < wanted.size(); ++n) EXPECT_TRUE(same_bits(got[n], wanted[n])) << score->name() << " " << n;
}

TEST(EveryScore, GivesZerosToAQueryThatSeesNoKey) {
  for (const ScorePtr& score : scores()) {
    const auto all = results(score, inputs(), padding({150, 0}));
    for (const size_t n : {0, 1, 3, 4})
      for (const double x : doubles(all[n].slice(0, 1, 2))) ASSERT_EQ(x, 0.0) << score->name() << " " << n;
    for (const double x : doubles(all[2].slice(0, 1, 2))) ASSERT_EQ(x, -INFINITY) << score->name();
  }
}

TEST(EveryScore, GivesTheSameBitsOnAnyNumberOfThreads) {
  const int before = threads();
  for (const ScorePtr& score : scores()) {
    std::vector<Tensor> first;
    for (const int count : {1, 2, 3}) {
      set_threads(count);
      const auto now = results(score, inputs(), causal());
      if (first.empty()) first = now;
      expect_same(now, first, score);
    }
  }
  set_threads(before);
}

TEST(EveryScore, GivesTheSameBitsWithoutItsNeighbours) {
  for (const ScorePtr& score : scores()) {
    std::vector<Tensor> x = inputs(), wanted = results(score, x, causal());
    for (Tensor& part : x) part = part.slice(0, 1, 2);
    for (Tensor& part : wanted) part = part.slice(0, 1, 2);
    expect_same(results(score, x, causal()), wanted, score);
  }
}

TEST(EveryScore, GivesTheSameBitsInAnotherMemoryOrder) {
  for (const ScorePtr& score : scores()) {
    std::vector<Tensor> x = inputs();
    const auto wanted = results(score, x, MaskPtr());
    for (Tensor& part : x) part = part.transpose(1, 2).clone().transpose(1, 2);
    const auto got = results(score, x, MaskPtr());
    expect_same(got, wanted, score);
    EXPECT_TRUE(got[0].transpose(1, 2).contiguous()) << score->name() << ": out has the memory order of q";
  }
}

TEST(EveryScore, TakesBf16) {
  for (const ScorePtr& score : scores())
    for (const int64_t T : {1, 70}) {
      std::vector<Tensor> x = inputs();
      for (Tensor& part : x) part = part.to(DType::bf16);
      const auto of = [&](DType dtype) {
        const auto in = [&](size_t n) { return n == 0 ? x[n].slice(2, 0, T).to(dtype) : x[n].to(dtype); };
        return attention(in(0), in(1), in(2), {.score = score}).to(DType::f32);
      };
      expect_close(of(DType::bf16), doubles(of(DType::f32)), std::ldexp(1.0, -6), score->name());
    }
}

TEST(EveryScore, GivesASingleQueryTheResultsItHasAmongOthers) {
  const std::vector<Tensor> x = inputs();
  for (const ScorePtr& score : scores()) {
    const auto many = attention_with_weights(x[0], x[1], x[2], {.score = score}),
               one = attention_with_weights(x[0].slice(2, 0, 1), x[1], x[2], {.score = score});
    expect_close(one.out, doubles(many.out.slice(2, 0, 1)), 2e-6, score->name());
    expect_close(one.weights, doubles(many.weights.slice(2, 0, 1)), 2e-6, score->name());
  }
}

TEST(EveryScore, TakesPackedSequences) {
  const Tensor q = random_tensor({9, 2, D}, 1), k = random_tensor({12, 2, D}, 2);
  for (const ScorePtr& score : scores()) {
    if (score->reads_positions()) continue;
    const Tensor packed = attention_packed(q, k, k, {0, 4, 9}, {0, 5, 12}, {.score = score});
    const auto alone = [](const Tensor& x, int64_t begin, int64_t end) {
      return x.slice(0, begin, end).clone().reshape({1, end - begin, 2, D}).transpose(1, 2);
    };
    const Tensor keys = alone(k, 5, 12), second = attention(alone(q, 4, 9), keys, keys, {.score = score});
    EXPECT_TRUE(same_bits(packed.slice(0, 4, 9), second.transpose(1, 2).clone().reshape({5, 2, D})))
        << score->name();
  }
}

TEST(EveryScore, IsExplainedWithTheWidthsThatItReads) {
  const Tensor q = random_tensor({1, 1, 3, 4}, 1), k = random_tensor({1, 1, 5, 8}, 2);
  const auto plan = [&](const ScorePtr& score) { return attention_plan(q, k, k, {.score = score}); };
  EXPECT_EQ(plan(bilinear(random_tensor({4, 8}, 3))).shape.D, 8);
  EXPECT_EQ(plan(concat(random_tensor({F, 12}, 3), random_tensor({F}, 4))).shape.D, F);
  EXPECT_EQ(plan(location(random_tensor({2, 4}, 3))).shape.D, 4);
  EXPECT_EQ(plan(location(random_tensor({2, 4}, 3))).visible_pairs, 3 * 2);
  EXPECT_NE(plan(bilinear(random_tensor({4, 8}, 3))).text().find("q          (B 1, H 1, T 3, D 4)"),
            std::string::npos);
}

}  // namespace qkv::score_test
