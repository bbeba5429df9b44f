// What a call of attention() would do, without doing it: who sees whom, which kernels run and why not the others,
// how much there is to compute, and how much to read.
//
//     std::puts(explain(q, k, v, {.mask = causal() & window(256, 0)}).c_str());
//     AttentionPlan plan = attention_plan(q, k, v, options);        // the same as numbers
//     double useful = plan.flops / plan.tile_flops;
//
// Shapes   those of attention.h: q (B,H,T,D), k (B,G,S,D), v (B,G,S,E).
//
//     flops = pairs that see each other * (a score + 2 E)     a score of dot products has 2 D; the backward has 2.5
//                                                             times as many
//     intensity = flops / bytes of q, k, v and out            high: arithmetic is the limit; low: memory
//
// Only the masks are asked, tile by tile as the engine will ask them; nothing as large as (T, S) is made.
// Errors   Error, when the shapes or the parts do not fit together.
#pragma once

#include <string>
#include <vector>

#include "qkv/attention/options.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

struct AttentionPlan {
  // A candidate: chosen, or the reason why not.
  struct Choice {
    std::string name;
    bool chosen = false;
    std::string reason;
  };

  std::string call;      // as one would write it: "attention(q, k, v, {.mask = causal()})"
  AttentionShape shape;  // D: the width of what the score makes of queries and keys
  Shape q, k;            // as given: their widths may differ
  DType dtype = DType::f32;
  std::vector<Choice> passes;            // ways through the engine, the best first (of a forward without a tape)
  std::vector<Choice> instruction_sets;  // kernels, the best first

  // Of all batch rows and heads together.
  int64_t pairs = 0, visible_pairs = 0;  // of a query and a key
  int64_t blind_queries = 0;             // see no key: their output is zero
  int64_t tiles = 0, visited_tiles = 0;  // blocks of queries by blocks of keys; the others are skipped
  int64_t partial_tiles = 0;             // visited, and the mask hides some of their pairs
  double flops = 0, tile_flops = 0;      // for visible pairs, and for all that visited tiles compute
  int64_t bytes = 0;                     // of q, k, v and out, each once

  double intensity() const { return bytes > 0 ? flops / static_cast<double>(bytes) : 0.0; }
  std::string text() const;  // several lines
};

AttentionPlan attention_plan(const Tensor& q, const Tensor& k, const Tensor& v,
                             const AttentionOptions& options = {});

// attention_plan(...).text().
std::string explain(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {});

}  // namespace qkv
