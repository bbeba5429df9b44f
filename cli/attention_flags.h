// The sizes and the mask of one attention, as flags of qkv explain and qkv compare.
//
//     AttentionSizes sizes;
//     attention_flags(app, sizes);
//     const AttentionWorkload work = attention_workload(sizes, "qkv explain");
#pragma once

#include <vector>

#include "cli/flags.h"
#include "qkv/layer/attention_cost.h"

namespace qkv::cli {

inline std::vector<Option*> attention_flags(App& app, AttentionSizes& sizes) {
  return {
      flag(app, "--batch", sizes.batch, "B, number of rows", "N"),
      flag(app, "--heads", sizes.heads, "H, number of query heads", "N"),
      flag(app, "--kv-heads", sizes.kv_heads, "G, number of key and value heads; 0: as many as heads", "N"),
      flag(app, "--head-width", sizes.head_width, "D, width of queries, keys and values in a head", "N"),
      flag(app, "--queries", sizes.queries, "T, number of queries; 1: a step of decoding", "TOKENS"),
      flag(app, "--keys", sizes.keys, "S, number of keys; 0: as many as queries", "TOKENS"),
      flag(app, "--causal", sizes.causal, "no query sees later keys; the last query sees the last key", ""),
      flag(app, "--cross", sizes.cross, "attention to another sequence, which no mask of positions fits", ""),
  };
}

}  // namespace qkv::cli
