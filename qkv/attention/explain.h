// What a call of attention() would do, without running it: how much the mask leaves visible, which algorithm and
// instruction set run and why not the better ones, how many operations and how many bytes it takes.
//
//     std::puts(explain(q, k, v, {.mask = causal() & window(256, 0)}).c_str());
//     AttentionPlan plan = attention_plan(q, k, v, options);        // the same as numbers
//     double useful = plan.flops / plan.tile_flops;
//
// Shapes   those of attention.h: q (B,H,T,D), k (B,G,S,D), v (B,G,S,E).
//
//     flops = visible pairs * (flops of a score + 2 E)    2 D for a dot product; backward: 2.5 times as many
//     intensity = flops / bytes of q, k, v and out        high: limited by arithmetic; low: by memory bandwidth
//
// Only the masks are evaluated, tile by tile; no (T, S) array is made.
// Errors   Error, when the shapes or the mechanisms do not fit together.
#pragma once

#include <string>
#include <vector>

#include "qkv/attention/options.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

struct AttentionPlan {
  // A candidate: `reason` describes it if it is chosen, else it is why it is not.
  struct Choice {
    std::string name;
    bool chosen = false;
    std::string reason;
  };

  std::string call;      // as C++: "attention(q, k, v, {.mask = causal()})"
  AttentionShape shape;  // D: the width of prepared queries and keys
  Shape q, k;            // as given: their widths may differ
  DType dtype = DType::f32;
  std::vector<Choice> algorithms;        // of a forward without gradients: best first, up to the chosen one
  std::vector<Choice> instruction_sets;  // best first

  // Totals over batch rows and heads.
  int64_t pairs = 0, visible_pairs = 0;  // (query, key)
  int64_t fully_masked_queries = 0;      // without visible keys: their output is zero
  int64_t tiles = 0, visited_tiles = 0;  // the other tiles are masked and skipped
  int64_t partial_tiles = 0;             // visited, and partially masked
  double flops = 0, tile_flops = 0;      // of visible pairs, and of all that is computed in the visited tiles
  int64_t bytes = 0;                     // of q, k, v and out, each once

  double intensity() const { return bytes > 0 ? flops / static_cast<double>(bytes) : 0.0; }
  std::string text() const;  // several lines
};

AttentionPlan attention_plan(const Tensor& q, const Tensor& k, const Tensor& v,
                             const AttentionOptions& options = {});

// attention_plan(...).text().
std::string explain(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {});

}  // namespace qkv
