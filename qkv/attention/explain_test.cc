#include "qkv/attention/explain.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/documents.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/mask/window.h"
#include "qkv/attention/reweigh/dropout.h"
#include "qkv/attention/score/additive.h"
#include "qkv/attention/score/dot.h"
#include "qkv/base/error.h"
#include "qkv/kernel/kernels.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::explain_test {

using namespace test;

struct Inputs {
  Tensor q, k, v;
};

Inputs inputs(int64_t B, int64_t H, int64_t G, int64_t T, int64_t S, int64_t D = 4, int64_t E = 6) {
  return {random_tensor({B, H, T, D}, 1), random_tensor({B, G, S, D}, 2), random_tensor({B, G, S, E}, 3)};
}

// A tensor of any size in the memory of one row.
Tensor broadcast(const Shape& shape) { return Tensor::zeros({1, 1, 1, shape.dim(3)}).expand(shape); }

TEST(Explain, CountsPairsAndQueriesAsTheWeightsDo) {
  const std::vector<int32_t> lengths = {130, 0};
  const MaskPtr masks[] = {
      {},
      causal(),
      causal() & window(70, 0),
      padding(lengths),
      (!causal()) | window(3, 2),
      causal(-100) & padding(lengths),
  };
  for (const auto& [T, S] : {std::pair<int64_t, int64_t>{1, 300}, {150, 300}, {300, 130}, {64, 128}}) {
    const Inputs x = inputs(2, 2, 1, T, S);
    for (const MaskPtr& mask : masks) {
      if (mask && mask->name().find("padding") != std::string::npos && S < 130) continue;
      const AttentionPlan plan = attention_plan(x.q, x.k, x.v, {.mask = mask});
      const Tensor weights = attention_with_weights(x.q, x.k, x.v, {.mask = mask}).weights;
      int64_t visible = 0, fully_masked = 0;
      const std::span<const float> w = weights.span<float>();
      for (size_t row = 0; row < w.size(); row += static_cast<size_t>(S)) {
        const auto keys = w.subspan(row, static_cast<size_t>(S));
        const int64_t seen = std::count_if(keys.begin(), keys.end(), [](float weight) { return weight > 0; });
        visible += seen;
        fully_masked += seen == 0;
      }
      EXPECT_EQ(plan.visible_pairs, visible) << plan.text();
      EXPECT_EQ(plan.fully_masked_queries, fully_masked) << plan.text();
      EXPECT_EQ(plan.pairs, 2 * 2 * T * S);
      EXPECT_EQ(plan.flops, static_cast<double>(visible) * (2 * 4 + 2 * 6));
      EXPECT_GE(plan.tile_flops, plan.flops);
      EXPECT_LE(plan.partial_tiles, plan.visited_tiles);
    }
  }
}

TEST(Explain, SkippedTilesAreNotVisited) {
  const Inputs x = inputs(1, 2, 2, 256, 256);
  const AttentionPlan full = attention_plan(x.q, x.k, x.v),
                      half = attention_plan(x.q, x.k, x.v, {.mask = causal()});
  EXPECT_EQ(full.visited_tiles, full.tiles);
  EXPECT_EQ(full.partial_tiles, 0);
  EXPECT_EQ(full.flops, full.tile_flops);
  EXPECT_LT(half.visited_tiles, half.tiles);
  EXPECT_GT(half.partial_tiles, 0);
  EXPECT_EQ(half.visible_pairs, 2 * 256 * 257 / 2);
}

TEST(Explain, CountsBytesReadAndWritten) {
  const Inputs x = inputs(2, 4, 2, 10, 20, 8, 16);
  const AttentionPlan plan = attention_plan(x.q, x.k, x.v);
  EXPECT_EQ(plan.bytes, 4 * (2 * 4 * 10 * 8 + 2 * 2 * 20 * 8 + 2 * 2 * 20 * 16 + 2 * 4 * 10 * 16));
  EXPECT_DOUBLE_EQ(plan.intensity(), plan.flops / static_cast<double>(plan.bytes));
  const Tensor w = random_tensor({5, 8}, 4);
  const ScorePtr score = additive(w, w, random_tensor({5}, 5));
  EXPECT_EQ(attention_plan(x.q, x.k, x.v, {.score = score}).flops, 2.0 * 4 * 10 * 20 * (4 * 5 + 2 * 16));
}

TEST(Explain, ShowsTheCallAsCode) {
  const Inputs x = inputs(1, 1, 1, 3, 3);
  EXPECT_EQ(attention_plan(x.q, x.k, x.v).call, "attention(q, k, v)");
  const AttentionPlan plan = attention_plan(
      x.q, x.k, x.v,
      {.score = dot(0.5f), .mask = causal() & window(2, 0), .reweigh = {weight_dropout({.rate = 0.1})}});
  EXPECT_TRUE(
      plan.call.starts_with("attention(q, k, v, {.score = dot(0.5), .mask = causal() & window(2, 0), "
                            ".reweigh = {"))
      << plan.call;
  const std::string text = explain(x.q, x.k, x.v, {.mask = causal()});
  for (const char* part :
       {"{.mask = causal()}", "(B 1, H 1, T 3, D 4) f32", "6 of 9 visible (66.7%)", "FLOP per byte"})
    EXPECT_NE(text.find(part), text.npos) << text;
  EXPECT_EQ(text.find("no visible key"), text.npos) << text;
}

TEST(Explain, ChoosesTheKernelsInUseAndStatesWhyNotTheOthers) {
  const Inputs x = inputs(1, 1, 1, 3, 3);
  int chosen = 0;
  for (const AttentionPlan::Choice& choice : attention_plan(x.q, x.k, x.v).instruction_sets) {
    EXPECT_FALSE(choice.reason.empty()) << choice.name;
    chosen += choice.chosen;
    if (choice.chosen) {
      EXPECT_EQ(choice.name, kernel::kernels().isa);
    }
    if (!kernel::cpu_has(choice.name)) {
      EXPECT_EQ(choice.reason, "not supported by this CPU");
    }
  }
  EXPECT_EQ(chosen, 1);
}

TEST(Explain, StatesThatTheSetForProcessorsWithoutBf16IsInABuildThatHasBf16) {
  const Inputs x = inputs(1, 1, 1, 3, 3);
  const auto choices = attention_plan(x.q, x.k, x.v).instruction_sets;
  const auto reason = [&](std::string_view name) {
    return std::find_if(choices.begin(), choices.end(), [&](const auto& c) { return c.name == name; })->reason;
  };
  if (!kernel::cpu_has("avx512_bf16") || reason("avx512_bf16") == "not in this build") GTEST_SKIP();
  EXPECT_NE(reason("avx512_vnni"), "not in this build");
}

// The algorithms of a plan, one per line: "name: reason" for those that decline, "NAME" for the chosen one.
std::string algorithms_of(const AttentionPlan& plan) {
  std::string text;
  for (const AttentionPlan::Choice& choice : plan.algorithms) {
    EXPECT_FALSE(choice.reason.empty()) << choice.name;
    text += choice.chosen ? "-> " + choice.name : fmt::format("{}: {}\n", choice.name, choice.reason);
  }
  return text;
}

TEST(Explain, ListsTheAlgorithmsUpToTheChosenOneWithReasons) {
  const Inputs x = inputs(1, 1, 1, 3, 3), one = inputs(1, 1, 1, 1, 3), many = inputs(1, 1, 1, 3, 300);
  const auto algorithms = [](const Inputs& in, const AttentionOptions& options = {}) {
    return algorithms_of(attention_plan(in.q, in.k, in.v, options));
  };
  EXPECT_EQ(algorithms(one), "-> single query");
  EXPECT_EQ(algorithms(x, {.single_queries = true}), "-> single query");
  const std::string not_f32 = "single query: T is 3, not 1\nbf16 tiles: inputs are f32\n";
  EXPECT_EQ(algorithms(many), not_f32 + "one f32 tile: S is 300, a tile has 128 keys\n-> f32 tiles");
  EXPECT_EQ(algorithms(x),
            not_f32 + fmt::format("one f32 tile: E 6 is not a multiple of {} SIMD lanes\n-> f32 tiles",
                                  kernel::kernels().lanes));
  const Inputs whole = inputs(1, 1, 1, 3, 3, 4, 16);
  EXPECT_EQ(algorithms(whole), not_f32 + "-> one f32 tile");
  const Tensor w = random_tensor({5, 4}, 4);
  EXPECT_EQ(algorithms({one.q, one.k, whole.v}, {.score = additive(w, w, random_tensor({5}, 5))}),
            "single query: additive(w_q, w_k, w_v) is not a dot product\nbf16 tiles: inputs are f32\n"
            "-> one f32 tile");
  EXPECT_NE(explain(x.q, x.k, x.v).find("not bf16 tiles: inputs are f32"), std::string::npos);
}

TEST(Explain, ListsTheAlgorithmsForBf16) {
  const auto algorithms = [](const Shape& qk, const Shape& v) {
    const Tensor q = random_tensor(qk, 1).to(DType::bf16);
    return attention_plan(q, q, random_tensor(v, 2).to(DType::bf16));
  };
  const bool has_products = kernel::kernels().attention.bf16 != nullptr;
  const std::string not_single = "single query: T is 3, not 1\n", odd = "D and E must be even and at most 512; ";
  const auto declined = [&](const std::string& reason) {
    const std::string no_products = fmt::format("{} has no bf16 products", kernel::kernels().isa);
    return not_single + "bf16 tiles: " + (has_products ? reason : no_products) + "\n";
  };
  EXPECT_EQ(algorithms_of(algorithms({1, 1, 3, 4}, {1, 1, 3, 16})),
            has_products ? not_single + "-> bf16 tiles" : declined("") + "-> one f32 tile");
  EXPECT_EQ(algorithms_of(algorithms({1, 1, 3, 5}, {1, 1, 3, 16})),
            declined(odd + "D is 5, E is 16") + "-> one f32 tile");
  EXPECT_EQ(algorithms_of(algorithms({1, 1, 3, 4}, {1, 1, 3, 514})).substr(0, declined("").size()),
            declined(odd + "D is 4, E is 514").substr(0, declined("").size()));
  EXPECT_TRUE(
      algorithms({1, 1, 3, 5}, {1, 1, 3, 16}).algorithms.back().reason.ends_with("inputs converted to f32"));
  EXPECT_EQ(algorithms_of(algorithms({1, 1, 1, 5}, {1, 1, 1, 3})), "-> single query");
}

TEST(Explain, AHugeCallIsExplainedWithoutBeingRun) {
  const int64_t T = int64_t{1} << 17, D = 64;
  const Tensor q = broadcast({1, 2, T, D}), k = broadcast({1, 1, T, D});
  const AttentionPlan plan = attention_plan(q, k, k, {.mask = causal() & window(255, 0)});
  EXPECT_EQ(plan.visible_pairs, 2 * (T * 256 - 255 * 128));
  EXPECT_EQ(plan.pairs, 2 * T * T);
  EXPECT_NE(plan.text().find("G"), std::string::npos);
}

TEST(Explain, RejectsInvalidShapes) {
  const Inputs x = inputs(1, 4, 2, 3, 3);
  EXPECT_EQ(
      error_of([&] {
        explain(x.q, x.k, random_tensor({1, 3, 3, 4}, 1));
      }),
      "explain: expected q (B,H,T,D), k (B,G,S,D), v (B,G,S,E), G a divisor of H; got (1, 4, 3, 4), (1, 2, 3, "
      "4), (1, 3, 3, 4)");
  EXPECT_THROW(explain(x.q, x.k, x.v, {.mask = padding(std::vector<int32_t>{4})}), Error);
}

}  // namespace qkv::explain_test
