#include "qkv/measure/attention_comparison.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/layer/attention_variant_text.h"

namespace qkv::attention_comparison_test {

AttentionWorkload workload(AttentionUse use = AttentionUse::encoder) {
  return {.layer = {.d_model = 32, .heads = 4, .use = use}, .queries = 64, .keys = 64};
}

TEST(CompareAttention, HasARowForEachMechanismAtEachSize) {
  const AttentionComparison found = compare_attention(
      {.work = workload(), .mechanisms = {"full", "stored", "kv-heads=1+window=3"}, .sweep = "length=16..64"});
  ASSERT_EQ(found.rows.size(), 9u);
  EXPECT_EQ(found.sweep.values, (std::vector<int64_t>{16, 32, 64}));
  const ComparedAttention &full = found.rows[6], &stored = found.rows[7], &window = found.rows[8];
  EXPECT_EQ(full.value, 64);
  EXPECT_EQ(full.cost.visible_pairs, 4 * 64 * 64);
  EXPECT_EQ(stored.cost.flops, full.cost.flops);
  EXPECT_EQ(stored.cost.bytes(), full.cost.bytes() + 4 * 4 * 64 * 64);
  EXPECT_EQ(window.cost.visible_pairs, 4 * (7 * 64 - 2 * (1 + 2 + 3)));
  EXPECT_EQ(window.cost.cache_bytes, full.cost.cache_bytes / 4);  // one of four heads
  EXPECT_FALSE(full.time.has_value());
}

TEST(CompareAttention, AMechanismIsAVariantWithHeadsOfKeysAndStoredWeights) {
  const AttentionWorkload work = with_mechanism(workload(), "window=5+kv-heads=2+softcap=30+stored");
  EXPECT_EQ(work.layer.kv_heads, 2);
  EXPECT_TRUE(work.stores_weights);
  EXPECT_EQ(to_string(work.layer.variant), "window=5+softcap=30");
  EXPECT_FALSE(with_mechanism(workload(), "full").stores_weights);
}

TEST(CompareAttention, TheDefaultsFitEachUse) {
  for (const AttentionUse use : {AttentionUse::encoder, AttentionUse::decoder, AttentionUse::cross}) {
    const AttentionComparison found = compare_attention({.work = workload(use), .sweep = "length=64"});
    EXPECT_EQ(found.rows.size(), default_mechanisms(use).size());
  }
}

TEST(CompareAttention, MeasuresWhatItCounts) {
  std::vector<std::string> measured;
  const AttentionComparison found =
      compare_attention({.work = workload(AttentionUse::decoder),
                         .mechanisms = {"full", "additive+stored", "multi-token"},
                         .sweep = "length=8",
                         .measure = true,
                         .progress = [&](const std::string& what) { measured.push_back(what); }});
  EXPECT_EQ(measured,
            (std::vector<std::string>{"full, length 8", "additive+stored, length 8", "multi-token, length 8"}));
  for (const ComparedAttention& row : found.rows) {
    ASSERT_TRUE(row.time.has_value());
    EXPECT_GE(row.time->calls, 5);
    EXPECT_GT(row.time->fastest, 0);
    EXPECT_LE(row.time->fastest, row.time->median);
    EXPECT_LE(row.time->median, row.time->slowest);
  }
  EXPECT_NE(comparison_table(found).find("median ms"), std::string::npos);
  const Json json = Json::parse(comparison_json(found).dump());
  const Json& rows = json["rows"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[size_t{0}]["seconds"]["calls"].get<int>(), found.rows[0].time->calls);
}

TEST(CompareAttention, WhatIsWrongIsNamed) {
  const auto message = [](const std::string& mechanism, AttentionUse use = AttentionUse::encoder) {
    try {
      compare_attention({.work = workload(use), .mechanisms = {mechanism}, .sweep = "length=8"});
    } catch (const UsageError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(message("widnow=3").find("did you mean window"), std::string::npos) << message("widnow=3");
  EXPECT_NE(message("kv-heads=x").find("kv-heads must be an integer"), std::string::npos);
  EXPECT_NE(message("kv-heads=3").find("kv-heads 3 must divide heads 4"), std::string::npos)
      << message("kv-heads=3");
  EXPECT_NE(message("window=3", AttentionUse::cross).find("'window=3'"), std::string::npos);
  EXPECT_NE(message("").find("unknown mechanism ''"), std::string::npos);
}

}  // namespace qkv::attention_comparison_test
