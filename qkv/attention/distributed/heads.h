// Heads over ranks: each gets all rows of some heads.
#pragma once

#include "qkv/attention/distributed/distributed_call.h"
#include "qkv/attention/engine/engine.h"

namespace qkv::internal {

// The call of this rank: its heads of the whole sequence.
AttentionCall gather_heads(const DistributedCall& d);
// Of its heads; out is that of the rows of this rank.
struct HeadsForward {
  ForwardResult of_heads;
  Tensor out;
};
HeadsForward heads_forward(const DistributedCall& d, const AttentionCall& heads);
// Of the rows of this rank; the parameters, of its heads.
BackwardResult heads_backward(const DistributedCall& d, const AttentionCall& heads, const ForwardResult& of_heads,
                              const Tensor& dout);

}  // namespace qkv::internal
