// How the cost of attention (layer/attention_cost.h) grows with each of its sizes.
//
//     const AttentionWorkload work = {.layer = {.d_model = 512, .heads = 8}, .queries = 1024, .keys = 1024};
//     for (const AttentionGrowth& row : attention_growth(work)) ... row.axis, row.value, row.cost.flops ...
//     std::string text = growth_table(work, attention_growth(work));
//     AttentionWorkload longer = with_size(work, AttentionAxis::length, 4096);             // T = S = 4096
//
// Axes: head width D, heads H, queries T, keys S, and the length T = S of self-attention. Where there are fewer heads than
// key/value heads, there are as many of these as heads; without kv_heads, as many as heads at every size.
// Errors   those of attention_cost(); UsageError for a sweep that is not AXIS or AXIS=FROM..TO.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/base/names.h"
#include "qkv/layer/attention_cost.h"

namespace qkv {

enum class AttentionAxis { head_width, heads, queries, keys, length };
constexpr auto names_of(AttentionAxis) {
  return std::array{Named{AttentionAxis::head_width, "head-width"}, Named{AttentionAxis::heads, "heads"},
                    Named{AttentionAxis::queries, "queries"}, Named{AttentionAxis::keys, "keys"},
                    Named{AttentionAxis::length, "length"}};
}
std::string title_of(AttentionAxis axis);  // "head width D", "length T = S"

int64_t size_of(const AttentionWorkload& work, AttentionAxis axis);
AttentionWorkload with_size(AttentionWorkload work, AttentionAxis axis, int64_t value);

struct AttentionSweep {
  AttentionAxis axis = AttentionAxis::length;
  std::vector<int64_t> values = {};
};
// "length=512..4096": 512, 1024, 2048, 4096. "length": from a sixteenth of the size in `work` to this size.
AttentionSweep attention_sweep(std::string_view text, const AttentionWorkload& work,
                               std::string_view where = "attention_sweep");

struct AttentionGrowth {
  AttentionAxis axis = AttentionAxis::length;
  int64_t factor = 1, value = 0;
  AttentionCost cost = {};
};
// Each axis at 1, 2, 4 and 8 times its size, the others as given.
std::vector<AttentionGrowth> attention_growth(const AttentionWorkload& work);
std::string growth_table(const AttentionWorkload& work, const std::vector<AttentionGrowth>& growth);

// The plan of the call (attention/explain.h), what its backward computes, and what it keeps.
std::string explain(const AttentionWorkload& work);

}  // namespace qkv
