// The same attention by different mechanisms, side by side, for a sweep over one of its sizes.
//
//     const AttentionComparison found = compare_attention(
//         {.work = {.layer = {.d_model = 512, .heads = 8, .use = AttentionUse::decoder}, .queries = 4096, .keys = 4096},
//          .mechanisms = {"full", "stored", "kv-heads=1", "window=256"}, .sweep = "length=512..4096"});
//     std::string text = comparison_table(found);
//     std::string json = comparison_json(found).dump();
//
// A mechanism is an attention variant (layer/attention_variant_text.h), joined by + with any of
//
//     kv-heads=N   N key/value heads: grouped-query, multi-query with 1        stored   the weights are kept in memory
//
// What is counted: layer/attention_cost.h; what is timed: measure/attention_time.h.
// Errors   UsageError that names the mechanism, for one that is unknown or does not fit the sizes, and for none.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "qkv/measure/attention_growth.h"
#include "qkv/measure/attention_time.h"

namespace qkv {

class Json;

struct CompareOptions {
  AttentionWorkload work = {};
  std::vector<std::string> mechanisms = {};  // empty: default_mechanisms()
  std::string sweep = "length";              // attention_sweep()
  bool measure = false;
  std::function<void(const std::string& what)> progress = {};  // called before each measurement
};

struct ComparedAttention {
  std::string mechanism = {};
  int64_t value = 0;  // of the axis
  AttentionCost cost = {};
  std::optional<AttentionTime> time = {};
};

struct AttentionComparison {
  AttentionWorkload work = {};
  AttentionSweep sweep = {};
  std::vector<std::string> mechanisms = {};
  std::vector<ComparedAttention> rows = {};  // of each size, each mechanism
};

AttentionComparison compare_attention(const CompareOptions& options);

// Those that an attention of this use can have.
std::vector<std::string> default_mechanisms(AttentionUse use);
AttentionWorkload with_mechanism(AttentionWorkload work, const std::string& mechanism,
                                 std::string_view where = "compare_attention");

std::string comparison_table(const AttentionComparison& comparison);
Json comparison_json(const AttentionComparison& comparison);

}  // namespace qkv
