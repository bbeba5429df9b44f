// The time of attention on this machine, between the projections of a layer (layer/attention_cost.h).
//
//     const AttentionTime time = measure_attention({.layer = {.d_model = 512, .heads = 8}, .queries = 1024, .keys = 1024});
//     fmt::print("{:.1f} ms, {:.1f} to {:.1f}\n", 1e3 * time.median, 1e3 * time.fastest, 1e3 * time.slowest);
//
// Forward without gradients, f32, all threads, q, k and v normally distributed, after one call that is not timed. Nothing else
// should run.
// Errors   those of attention_cost(); UsageError for longformer-separate, which projects positions by itself.
#pragma once

#include "qkv/layer/attention_cost.h"

namespace qkv {

struct AttentionTime {
  double median = 0, fastest = 0, slowest = 0;  // seconds
  int calls = 0;
};

// Calls it until so many seconds have passed, and five times at least.
AttentionTime measure_attention(const AttentionWorkload& work, double seconds = 0.3);

}  // namespace qkv
