// The ring: queries stay, keys and values travel.
#pragma once

#include <vector>

#include "qkv/attention/distributed/distributed_call.h"
#include "qkv/attention/engine/engine.h"

namespace qkv::internal {

// Of the rows of this rank.
ForwardResult ring_forward(const DistributedCall& d);
BackwardResult ring_backward(const DistributedCall& d, const ForwardResult& forward, const Tensor& dout);

}  // namespace qkv::internal
