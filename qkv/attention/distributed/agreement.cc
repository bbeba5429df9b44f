#include "qkv/attention/distributed/agreement.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "qkv/base/collectives.h"
#include "qkv/base/error.h"
#include "qkv/base/random.h"

namespace qkv::internal {
namespace {

uint64_t hash(const SequenceLayout& layout) {
  uint64_t sum = 0;
  for (const SequenceBlock& block : layout.blocks())
    sum = mix(sum, mix(static_cast<uint64_t>(block.end), static_cast<uint64_t>(block.rank)));
  return sum;
}

// What must be the same on every rank.
struct Agreement {
  AttentionShape shape;
  int64_t dtype, with_backward, distribution;
  uint64_t queries, keys, mechanism;

  std::string text() const {
    const AttentionShape& s = shape;
    return fmt::format("B {}, H {}, G {}, T {}, S {}, D {}, E {}, {}{}", s.B, s.H, s.G, s.T, s.S, s.D, s.E,
                       dtype == static_cast<int64_t>(DType::bf16) ? "bf16" : "f32",
                       with_backward ? ", with a gradient" : "");
  }
};
static_assert(std::has_unique_object_representations_v<Agreement>);

}  // namespace

AttentionShape whole_shape(const Tensor& q, const Tensor& k, const Tensor& v, const DistributedSequence& sequence) {
  return {.B = q.dim(0),
          .H = q.dim(1),
          .G = k.dim(1),
          .T = sequence.queries.length(),
          .S = sequence.keys.length(),
          .D = q.dim(3),
          .E = v.dim(3)};
}

void check_rows(const char* op, const Tensor& q, const Tensor& k, const DistributedSequence& sequence) {
  const int rank = sequence.communicator.rank(), ranks = sequence.communicator.size();
  for (const SequenceLayout* layout : {&sequence.queries, &sequence.keys})
    for (const SequenceBlock& block : layout->blocks())
      require(block.rank < ranks, op, "the layout gives [{}, {}) to rank {} of {}", block.begin, block.end,
              block.rank, ranks);
  require(q.dim(2) == sequence.queries.rows(rank), op, "rank {} must have {} queries, q is {}", rank,
          sequence.queries.rows(rank), describe("BHTD", q.shape()));
  require(k.dim(2) == sequence.keys.rows(rank), op, "rank {} must have {} keys, k is {}", rank,
          sequence.keys.rows(rank), describe("BGSD", k.shape()));
}

void agree(const DistributedSequence& sequence, const SpreadCall& call) {
  Communicator& c = sequence.communicator;
  const Agreement mine = {call.shape,
                          static_cast<int64_t>(call.dtype),
                          call.with_backward,
                          static_cast<int64_t>(sequence.distribution),
                          hash(sequence.queries),
                          hash(sequence.keys),
                          call.mechanism};
  const std::vector<std::vector<std::byte>> all = all_gather_bytes(c, bytes_of(std::span(&mine, 1)));
  for (size_t rank = 0; rank < all.size(); ++rank) {
    Agreement theirs = {};
    std::memcpy(&theirs, all[rank].data(), std::min(sizeof(theirs), all[rank].size()));
    require(std::memcmp(&theirs, &mine, sizeof(mine)) == 0, "distributed_attention",
            "all ranks must make the same call, with the same layouts: rank {} has {}; rank {} has {}", c.rank(),
            mine.text(), rank, theirs.text());
  }
}

}  // namespace qkv::internal
