// A call whose keys arrive in parts, for attention over several processes (distributed.h): the online softmax continues from
// part to part, so that mechanisms need not know of it. With the parts in the order of the keys, cut at multiples of
// max_block_keys, the bits are those of one call.
//
//     SoftmaxState state(call);                     // call.part: some queries and heads
//     for (part of the keys) add_keys(call with these keys, state);
//     ForwardResult result = finish(call, state);
#pragma once

#include "qkv/attention/engine/engine.h"

namespace qkv::internal {

// What the forward keeps for each query between its tiles.
struct SoftmaxState {
  Tensor out;           // (B,H,T,E) f32, not yet divided by the sum
  Tensor maximum, sum;  // (B,H,T)

  explicit SoftmaxState(const AttentionCall& call);
  // Some queries; out is transposed, (E, rows.width).
  void load(const QueryBlock& rows, const kernel::RunningSoftmax& running, float* out_block) const;
  void store(const QueryBlock& rows, const kernel::RunningSoftmax& running, const float* out_block);
};

void add_keys(const AttentionCall& call, SoftmaxState& state);
ForwardResult finish(const AttentionCall& call, const SoftmaxState& state);

// The smallest range that has all keys of the call's part that one of its queries sees.
KeyRange visible_keys(const AttentionCall& call);

}  // namespace qkv::internal
