// Multi-token attention (multi_token.h) across processes: each rank has some of the queries, keys and values.
//
//     const SequenceLayout layout = contiguous_layout(T, c.size());
//     Variable y = distributed_multi_token_attention(q, k, v, {c, layout, layout}, {.post_conv = taps, .mask = causal()});
//
// Shapes       those of multi_token.h, with the rows that the layouts give this rank instead of T and S: q (B,H,rows,D),
//              k (B,G,rows,D), v (B,G,rows,E); out (B,H,rows,E). The mask is that of the whole sequence.
// What travels The halo: for each block of queries of a rank the history_of() queries before it, on which its results depend; and
//              the keys and values that a query of the block or of its halo sees, from the first to the last. A convolution
//              reads masked pairs as 0, so it needs no other keys. They stay during a call: a row of the weights of all heads has
//              S numbers in any case. The backward gets them again, and sends gradients back in f32.
// Result       that of multi_token_attention() of the whole, up to the rounding of sums in another order; dropout keeps the same
//              pairs. Gradients are those of distributed.h: of a parameter of the rows that the rank computed, so that their
//              sum over the ranks is the gradient.
// Errors       UsageError: heads to be spread, which mix with each other, a history; Error: those of distributed.h and multi_token.h.
#pragma once

#include "qkv/attention/distributed.h"
#include "qkv/attention/multi_token.h"

namespace qkv {

Variable distributed_multi_token_attention(const Variable& q, const Variable& k, const Variable& v,
                                           const DistributedSequence& sequence,
                                           const MultiTokenOptions& options = {});

}  // namespace qkv
