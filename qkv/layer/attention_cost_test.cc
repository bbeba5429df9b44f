#include "qkv/layer/attention_cost.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/layer/attention_core.h"
#include "qkv/layer/attention_variant_text.h"
#include "qkv/layer/pass.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::attention_cost_test {

using namespace test;

AttentionWorkload workload(const std::string& variant, AttentionUse use, int64_t T, int64_t S) {
  return {.layer = {.d_model = 24, .heads = 4, .kv_heads = 2, .variant = attention_variant(variant), .use = use},
          .queries = T,
          .keys = S};
}

// Weights that are not zero in what the layer itself computes.
int64_t visible_in_weights(const AttentionWorkload& work) {
  const AttentionCore core(work.layer.completed());
  const int64_t D = 6;
  AttentionLog log;
  Pass pass{.log = &log};
  const NoGrad guard;
  core.attend({.q = random_tensor({work.batch, 4, work.queries, D}, 1),
               .k = random_tensor({work.batch, 2, work.keys, D}, 2),
               .v = random_tensor({work.batch, 2, work.keys, D}, 3)},
              {.mask = work.layer.use == AttentionUse::decoder ? causal() : MaskPtr()}, pass);
  const Tensor weights = log.weights(work.layer.use, 0);
  const std::span<const float> w = weights.span<float>();
  return std::count_if(w.begin(), w.end(), [](float x) { return x > 0; });
}

TEST(AttentionCost, VisiblePairsAreTheWeightsThatAreNotZero) {
  Random random(1, 1);
  const char* variants[] = {"full",           "window=7",        "dilated=9:3",       "strided=5",
                            "longformer=6:2", "bigbird=8:3:1:1", "window=5+prefix=3", "softcap=5+alibi"};
  for (const char* variant : variants)
    for (const AttentionUse use : {AttentionUse::encoder, AttentionUse::decoder}) {
      const auto S = 1 + static_cast<int64_t>(random.uniform() * 150);
      for (const int64_t T : {S, int64_t{1}}) {
        AttentionWorkload work = workload(variant, use, T, S);
        work.batch = 2;
        const AttentionCost cost = attention_cost(work);
        EXPECT_EQ(cost.visible_pairs, visible_in_weights(work)) << variant << " T " << T << " S " << S;
        EXPECT_EQ(cost.pairs, 2 * 4 * T * S);
        EXPECT_EQ(cost.flops, 4.0 * 6 * static_cast<double>(cost.visible_pairs)) << variant;
      }
    }
}

TEST(AttentionCost, CrossAttentionSeesEveryKey) {
  const AttentionWorkload work = workload("full", AttentionUse::cross, 5, 70);
  EXPECT_EQ(attention_cost(work).visible_pairs, 4 * 5 * 70);
  EXPECT_EQ(visible_in_weights(work), 4 * 5 * 70);
}

TEST(AttentionCost, BytesAreThoseOfTheTensors) {
  AttentionWorkload work = workload("full", AttentionUse::decoder, 3, 10);
  work.batch = 5;
  AttentionCost cost = attention_cost(work);
  EXPECT_EQ(cost.operand_bytes, 4 * 5 * (2 * 4 * 3 * 6 + 2 * 2 * 10 * 6));
  EXPECT_EQ(cost.cache_bytes, 4 * 5 * 2 * 2 * 10 * 6);
  EXPECT_EQ(cost.added_memory, 4 * 5 * 4 * 3);
  EXPECT_EQ(cost.weight_bytes, 0);
  EXPECT_EQ(cost.bytes(), cost.operand_bytes);
  EXPECT_DOUBLE_EQ(cost.intensity(), cost.flops / cost.operand_bytes);
  work.stores_weights = true;
  cost = attention_cost(work);
  EXPECT_EQ(cost.weight_bytes, 4 * 5 * 4 * 3 * 10);
  EXPECT_EQ(cost.bytes(), cost.operand_bytes + cost.weight_bytes);
  EXPECT_EQ(cost.added_memory, cost.weight_bytes);
}

TEST(AttentionCost, AnAdditiveScoreCostsMoreThanADotProduct) {
  const AttentionCost dot = attention_cost(workload("full", AttentionUse::encoder, 9, 9)),
                      additive = attention_cost(workload("additive", AttentionUse::encoder, 9, 9));
  EXPECT_EQ(additive.visible_pairs, dot.visible_pairs);
  EXPECT_GT(additive.flops, dot.flops);
}

TEST(AttentionCost, WhatDoesNotFitIsRefused) {
  AttentionWorkload work = workload("full", AttentionUse::encoder, 9, 9);
  work.keys = 0;
  EXPECT_THROW(attention_cost(work), UsageError);
  work = workload("full", AttentionUse::encoder, 9, 9);
  work.batch = 0;
  EXPECT_THROW(attention_cost(work), UsageError);
  for (const int64_t kv_heads : {3, -1}) {
    work = workload("full", AttentionUse::encoder, 9, 9);
    work.layer.kv_heads = kv_heads;
    EXPECT_THROW(attention_cost(work), UsageError);
  }
  work = workload("full", AttentionUse::encoder, 1 << 24, 1 << 24);
  work.batch = 1 << 24;
  EXPECT_THROW(attention_cost(work), UsageError);  // more pairs than can be counted
  EXPECT_THROW(attention_cost(workload("window=3", AttentionUse::cross, 9, 9)), UsageError);
}

}  // namespace qkv::attention_cost_test
