// That all ranks make the same call.
#pragma once

#include "qkv/attention/distributed.h"
#include "qkv/attention/tile.h"

namespace qkv::internal {

// The lengths of the call of the whole sequence.
AttentionShape whole_shape(const Tensor& q, const Tensor& k, const Tensor& v, const DistributedSequence& sequence);

// That q and k have the rows that the layouts give this rank.
void check_rows(const char* op, const Tensor& q, const Tensor& k, const DistributedSequence& sequence);

struct SpreadCall {
  AttentionShape shape;
  DType dtype = DType::f32;
  bool with_backward = false;  // a gradient is recorded
  uint64_t mechanism = 0;      // a number that calls of different kinds have not in common
};
void agree(const DistributedSequence& sequence, const SpreadCall& call);

}  // namespace qkv::internal
