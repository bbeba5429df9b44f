#include "qkv/measure/attention_growth.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/layer/attention_variant_text.h"

namespace qkv::attention_growth_test {

AttentionWorkload workload(int64_t T, int64_t S, const std::string& variant = "full") {
  return {.layer = {.d_model = 32, .heads = 4, .kv_heads = 2, .variant = attention_variant(variant)},
          .queries = T,
          .keys = S};
}

const AttentionGrowth& at(const std::vector<AttentionGrowth>& growth, AttentionAxis axis, int64_t factor) {
  for (const AttentionGrowth& row : growth)
    if (row.axis == axis && row.factor == factor) return row;
  throw Error("growth", "no such row");
}

TEST(AttentionGrowth, OfFullAttentionIsLinearInEachSizeAndQuadraticInTheLength) {
  const std::vector<AttentionGrowth> growth = attention_growth(workload(48, 48));
  const double base = at(growth, AttentionAxis::queries, 1).cost.flops;
  for (const AttentionAxis axis :
       {AttentionAxis::head_width, AttentionAxis::heads, AttentionAxis::queries, AttentionAxis::keys})
    EXPECT_DOUBLE_EQ(at(growth, axis, 2).cost.flops, 2 * base) << name_of(axis);
  EXPECT_DOUBLE_EQ(at(growth, AttentionAxis::length, 4).cost.flops, 16 * base);
  EXPECT_DOUBLE_EQ(at(growth, AttentionAxis::length, 4).cost.bytes(),
                   4 * at(growth, AttentionAxis::length, 1).cost.bytes());
}

TEST(AttentionGrowth, OfAWindowIsLinearInTheLength) {
  const std::vector<AttentionGrowth> growth = attention_growth(workload(64, 64, "window=2"));
  // 5 keys for each query, less 2 + 1 at either end.
  for (const int64_t factor : {1, 2, 4, 8})
    EXPECT_EQ(at(growth, AttentionAxis::length, factor).cost.visible_pairs, 4 * (5 * 64 * factor - 6));
}

TEST(AttentionGrowth, OfACallThatIsNotSelfAttentionHasNoLength) {
  for (const AttentionGrowth& row : attention_growth(workload(1, 64))) EXPECT_NE(row.axis, AttentionAxis::length);
}

TEST(AttentionGrowth, HeadsOfKeysFollowTheHeads) {
  const AttentionWorkload grouped = workload(8, 8);
  EXPECT_EQ(with_size(grouped, AttentionAxis::heads, 16).layer.size().kv_heads, 2);
  EXPECT_EQ(with_size(grouped, AttentionAxis::heads, 1).layer.size().kv_heads, 1);
  AttentionWorkload multi = grouped;
  multi.layer.kv_heads = 0;
  EXPECT_EQ(with_size(multi, AttentionAxis::heads, 16).layer.size().kv_heads, 16);
  EXPECT_EQ(with_size(multi, AttentionAxis::heads, 16).layer.size().head_width, 8);
}

TEST(AttentionSweep, DoublesFromOneSizeToAnother) {
  EXPECT_EQ(attention_sweep("keys=3..20", workload(1, 64)).values, (std::vector<int64_t>{3, 6, 12}));
  EXPECT_EQ(attention_sweep("length", workload(64, 64)).values, (std::vector<int64_t>{4, 8, 16, 32, 64}));
  EXPECT_EQ(attention_sweep("head-width=7", workload(1, 64)).values, (std::vector<int64_t>{7}));
  for (const char* wrong :
       {"", "lenght", "length=", "length=4..", "length=8..4", "length=0..4", "length=1..99999999"})
    EXPECT_THROW(attention_sweep(wrong, workload(1, 64)), UsageError) << wrong;
}

TEST(Explain, OfAWorkloadNamesThePlanAndWhatIsKept) {
  const std::string text = explain(workload(64, 64));
  for (const char* part :
       {"attention(q, k, v)", "100%", "backward", "1.31 MFLOP", "65.5 kB if they were stored", "KV cache"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  const std::string table = growth_table(workload(64, 64), attention_growth(workload(64, 64)));
  for (const char* part : {"as given", "length T = S  512", "64 x"})
    EXPECT_NE(table.find(part), std::string::npos) << part << " is not in\n" << table;
}

}  // namespace qkv::attention_growth_test
