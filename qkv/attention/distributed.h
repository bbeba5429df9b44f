// Attention across processes, for sequences that are too long for one: each rank has some of the queries, keys and values.
//
//     Communicator& c = world();                                  // qkv/base/world.h
//     const SequenceLayout layout = zigzag_layout(T, c.size());
//     Tensor y = distributed_attention(q, k, v, {c, layout, layout}, {.mask = causal()});
//
// Shapes       those of attention.h, with the rows that the layouts give this rank instead of T and S: q (B,H,rows,D),
//              k (B,G,rows,D), v (B,G,rows,E); out (B,H,rows,E). B, H, G and the type are the same on every rank.
// Mechanisms   are those of the whole call, on every rank: positions count from the beginning of the whole sequence, and a
//              bias or table of ids is that of all T queries and S keys. Dropout drops what it drops in one process.
// Result       that of attention() of the whole sequence, up to the rounding of sums in another order. Its bits depend on the
//              layouts and on the number of ranks, not on timing.
// Gradients    With Variables differentiable like attention(): every rank gets the gradients of its own q, k and v. Those of
//              the parameters of the mechanisms are of the pairs that the rank computed: their sum over the ranks is the
//              gradient. Every rank calls backward(), in the same order if there are several.
//
// Two ways to compute it:
//
//     ring    Queries stay, and keys and values travel: a rank asks each other for the range of keys that its queries see, so
//             a window sends what it reaches over the border, and documents nothing that another document has. The
//             online softmax continues from block to block (Liu et al., "Ring Attention with Blockwise Transformers",
//             2023). Any number of ranks. In the backward keys and values travel again, and their gradients back in f32.
//     heads   Each rank gets all rows of H / N heads, computes them as one process does, and sends the outputs back (Jacobs et
//             al., "DeepSpeed Ulysses", 2023). N must divide G.
//
// automatic takes what sends fewer bytes; distributed_plan() says how many.
// Errors   UsageError: a score that depends on the positions of keys (location()), heads that N does not divide; Error:
//          shapes that do not fit the layouts, ranks that differ.
#pragma once

#include <string>

#include "qkv/attention/options.h"
#include "qkv/autograd/variable.h"
#include "qkv/base/communicator.h"
#include "qkv/tensor/sequence_layout.h"

namespace qkv {

enum class Distribution { automatic, ring, heads };

struct DistributedSequence {
  Communicator& communicator;
  SequenceLayout queries, keys;
  Distribution distribution = Distribution::automatic;
};

Tensor distributed_attention(const Tensor& q, const Tensor& k, const Tensor& v, const DistributedSequence& sequence,
                             const AttentionOptions& options = {});
Variable distributed_attention(const Variable& q, const Variable& k, const Variable& v,
                               const DistributedSequence& sequence, const AttentionOptions& options = {});

// What would be sent, by all ranks together. Every rank calls it, and gets the same.
struct DistributedPlan {
  Distribution chosen = Distribution::ring;
  int64_t ring_forward = 0, ring_backward = 0;    // bytes
  int64_t heads_forward = 0, heads_backward = 0;  // where it is possible
  std::string why_not_heads;                      // empty if it is possible
  std::string text() const;                       // several lines
};
DistributedPlan distributed_plan(const Variable& q, const Variable& k, const Variable& v,
                                 const DistributedSequence& sequence, const AttentionOptions& options = {});

}  // namespace qkv
