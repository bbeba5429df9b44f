// A call of distributed_attention(), prepared on every rank.
#pragma once

#include <vector>

#include "qkv/attention/distributed.h"
#include "qkv/attention/engine/call.h"

namespace qkv::internal {

// The keys that some queries of a rank see, in each block of keys: the smallest range of each.
struct QueryNeeds {
  SequenceLayout::Held queries;  // a part of a block: short, so that few keys are in between
  std::vector<KeyRange> keys;    // by block of keys; empty where begin >= end
};

struct DistributedCall {
  Communicator* communicator;
  SequenceLayout query_layout, key_layout;
  AttentionCall call;                         // of the whole; q, k and v have the rows of this rank
  std::vector<QueryNeeds> queries;            // of this rank
  std::vector<std::vector<KeyRange>> needed;  // [rank][block of keys]: what the rank needs of the block
  std::vector<Variable> inputs;               // prepared q, k, v and the parameters
  bool with_backward = false;                 // a gradient is recorded

  int rank() const { return communicator->rank(); }
  int ranks() const { return communicator->size(); }
};

// Checks that all ranks make the same call, and exchanges what each needs.
DistributedCall prepare_distributed(const Variable& q, const Variable& k, const Variable& v,
                                    const DistributedSequence& sequence, const AttentionOptions& options);

DistributedPlan plan(const DistributedCall& call, Distribution wanted);

}  // namespace qkv::internal
