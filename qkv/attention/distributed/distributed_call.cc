#include "qkv/attention/distributed/distributed_call.h"

#include <algorithm>
#include <cstring>

#include "qkv/attention/distributed/agreement.h"
#include "qkv/attention/engine/parts.h"
#include "qkv/base/collectives.h"
#include "qkv/base/error.h"
#include "qkv/op/convert.h"

namespace qkv::internal {
namespace {

constexpr const char* op = "distributed_attention";

void check(const Tensor& q, const Tensor& k, const Tensor& v, const DistributedSequence& s,
           const AttentionOptions& options) {
  check_inputs(q, k, v);
  check_rows(op, q, k, s);
  if (options.score && options.score->reads_positions())
    fail<UsageError>(op, "{} depends on the positions of keys, which other ranks have: take another score",
                     options.score->name());
}

// The blocks of this rank, in parts. A backward takes memory for all queries of a part, and time for those that see only a
// few of its keys.
std::vector<SequenceLayout::Held> query_parts(const DistributedCall& d) {
  constexpr int64_t max_queries = 2048;
  std::vector<SequenceLayout::Held> parts;
  for (const auto& [index, block, row] : d.query_layout.held(d.rank()))
    for (int64_t begin = block.begin; begin < block.end; begin += max_queries) {
      const int64_t end = std::min(begin + max_queries, block.end);
      parts.push_back({index, {begin, end, block.rank}, row + begin - block.begin});
    }
  return parts;
}

// The keys that the queries of this rank see.
std::vector<QueryNeeds> needs_of(const DistributedCall& d) {
  std::vector<QueryNeeds> all;
  for (const SequenceLayout::Held& held : query_parts(d)) {
    QueryNeeds needs = {held, {}};
    for (const SequenceBlock& block : d.key_layout.blocks()) {
      AttentionCall part = d.call;
      part.part.query = held.block.begin;
      part.part.queries = held.block.size();
      part.part.key = block.begin;
      part.part.keys = block.size();
      needs.keys.push_back(visible_keys(part));
    }
    all.push_back(std::move(needs));
  }
  return all;
}

std::vector<KeyRange> united(const std::vector<QueryNeeds>& queries, size_t blocks) {
  std::vector<KeyRange> all(blocks, KeyRange{0, 0});
  for (const QueryNeeds& q : queries)
    for (size_t i = 0; i < blocks; ++i) {
      const KeyRange& keys = q.keys[i];
      if (keys.begin >= keys.end) continue;
      KeyRange& sum = all[i];
      sum = sum.begin >= sum.end ? keys : KeyRange{std::min(sum.begin, keys.begin), std::max(sum.end, keys.end)};
    }
  return all;
}

}  // namespace

DistributedCall prepare_distributed(const Variable& q, const Variable& k, const Variable& v,
                                    const DistributedSequence& sequence, const AttentionOptions& options) {
  check(q.value(), k.value(), v.value(), sequence, options);
  AttentionShape shape = shape_of(q.value(), k.value(), v.value(), options);
  shape.T = sequence.queries.length();
  shape.S = sequence.keys.length();
  const auto prepared_as = [&](DType dtype) {
    const Variable x = convert(q, dtype), y = convert(k, dtype);
    return options.score ? options.score->prepare(x, y) : Score::Prepared{x, y};
  };
  const bool in_bf16 = q.value().dtype() == DType::bf16 &&
                       reads_bf16(select_algorithm({shape, DType::bf16, options, /*with_backward=*/true}));
  const DType dtype = in_bf16 ? DType::bf16 : DType::f32;
  const Score::Prepared prepared = prepared_as(dtype);
  const Variable values = convert(v, dtype);
  DistributedCall d = {.communicator = &sequence.communicator,
                       .query_layout = sequence.queries,
                       .key_layout = sequence.keys,
                       .call = prepare(prepared, values.value(), options, /*with_backward=*/true, shape),
                       .queries = {},
                       .needed = {},
                       .inputs = inputs_of(prepared.q, prepared.k, values, options)};
  d.with_backward = recording(d.inputs);
  agree(sequence, {.shape = d.call.shape, .dtype = d.call.q.dtype(), .with_backward = d.with_backward});
  d.queries = needs_of(d);
  const size_t blocks = sequence.keys.blocks().size();
  for (const std::vector<std::byte>& bytes :
       all_gather_bytes(sequence.communicator, bytes_of(united(d.queries, blocks)))) {
    std::vector<KeyRange> ranges(blocks);
    require(bytes.size() == blocks * sizeof(KeyRange), op, "a rank has another number of key blocks than {}",
            blocks);
    if (!bytes.empty()) std::memcpy(ranges.data(), bytes.data(), bytes.size());
    for (size_t i = 0; i < blocks; ++i) {
      const SequenceBlock& block = sequence.keys.blocks()[i];
      require(ranges[i].begin >= ranges[i].end || (ranges[i].begin >= block.begin && ranges[i].end <= block.end),
              op, "a rank needs the keys [{}, {}) of the block [{}, {})", ranges[i].begin, ranges[i].end,
              block.begin, block.end);
    }
    d.needed.push_back(std::move(ranges));
  }
  return d;
}

DistributedPlan plan(const DistributedCall& d, Distribution wanted) {
  const AttentionShape& s = d.call.shape;
  const int64_t size = size_of(d.call.q.dtype()), N = d.ranks();
  int64_t keys = 0;  // that travel
  for (int rank = 0; rank < d.ranks(); ++rank)
    for (size_t i = 0; i < d.key_layout.blocks().size(); ++i) {
      const KeyRange& range = d.needed[static_cast<size_t>(rank)][i];
      if (d.key_layout.blocks()[i].rank != rank) keys += std::max<int64_t>(0, range.end - range.begin);
    }
  DistributedPlan p;
  p.ring_forward = s.B * s.G * keys * (s.D + s.E) * size;
  p.ring_backward = s.B * s.G * keys * (s.D + s.E) * (size + static_cast<int64_t>(sizeof(float)));
  if (s.G % N != 0) p.why_not_heads = fmt::format("{} ranks do not divide G {} key/value heads", N, s.G);
  const int64_t q = s.B * s.H * s.T, k = s.B * s.G * s.S;
  if (p.why_not_heads.empty()) {
    // All but the own part of every tensor: q, k, v and out; in the backward dout, dq, dk and dv.
    p.heads_forward = p.heads_backward = (q + k) * (s.D + s.E) * size * (N - 1) / N;
  }
  const auto total = [&](int64_t forward, int64_t backward) { return forward + (d.with_backward ? backward : 0); };
  const bool fewer = total(p.heads_forward, p.heads_backward) < total(p.ring_forward, p.ring_backward);
  p.chosen = wanted;
  if (wanted == Distribution::automatic)
    p.chosen = p.why_not_heads.empty() && fewer ? Distribution::heads : Distribution::ring;
  if (p.chosen == Distribution::heads && !p.why_not_heads.empty())
    fail<UsageError>(op, "heads cannot be spread: {}", p.why_not_heads);
  return p;
}

}  // namespace qkv::internal
