// What the attention of a layer computes, reads and keeps, between its projections, from the sizes and the variant alone.
//
//     const AttentionWorkload work = {.layer = {.d_model = 512, .heads = 8, .kv_heads = 2, .variant = SlidingWindow{256}},
//                                     .queries = 4096, .keys = 4096};
//     const AttentionCost cost = attention_cost(work);
//     fmt::print("{} FLOP, {} bytes, {:.1f} FLOP per byte\n", cost.flops, cost.bytes(), cost.intensity());
//
// With B rows, H heads of width D, G key/value heads, T queries and S keys, f32:
//
//     flops           visible pairs * (FLOPs of a score + 2 D)            4 D for dot products; a backward has 2.5 times as many
//     operand bytes   4 (2 B H T D + 2 B G S D)                           q, k, v and the output, each once
//     weight bytes    4 B H T S                                           if they are stored, written once
//     added memory    weight bytes, or 4 B H T of a log-sum-exp for each query, beside q, k, v and the output
//     cache bytes     4 * 2 B G S D                                       keys and values, all of which a decoding step reads
//
// Nothing of size (T,S) is made, only the masks are evaluated. A softmax, masking and the rotation of queries and keys are
// left out: less than a hundredth.
// Errors   UsageError for sizes below 1, heads that do not fit together, and a variant that the layer cannot have.
#pragma once

#include <string_view>

#include "qkv/attention/explain.h"
#include "qkv/layer/multi_head_attention_options.h"

namespace qkv {

struct AttentionWorkload {
  MultiHeadAttentionOptions layer = {};      // heads, widths, variant; its use says whether it is causal
  int64_t batch = 1, queries = 1, keys = 1;  // B, T, S
  bool stores_weights = false;               // attention_with_weights() instead of attention()
};

struct AttentionCost {
  int64_t pairs = 0, visible_pairs = 0;  // (query, key) of all rows and heads
  double flops = 0;                      // of a forward
  double operand_bytes = 0, weight_bytes = 0, cache_bytes = 0;
  double added_memory = 0;

  double bytes() const { return operand_bytes + weight_bytes; }  // moved by a forward
  double intensity() const { return bytes() > 0 ? flops / bytes() : 0; }
};

AttentionCost attention_cost(const AttentionWorkload& work);

// The same sizes as numbers that a person types.
struct AttentionSizes {
  int64_t batch = 1, heads = 8, kv_heads = 0, head_width = 64;  // B, H, G (0: H), D
  int64_t queries = 4096, keys = 0;                             // T, S (0: T)
  bool causal = false, cross = false;                           // neither: of an encoder
};
AttentionWorkload attention_workload(const AttentionSizes& sizes, std::string_view where = "attention_workload");

// How attention() would do it: attention/explain.h.
AttentionPlan attention_plan(const AttentionWorkload& work);

}  // namespace qkv
