#include "qkv/attention/distributed_multi_token.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "qkv/attention/distributed/add_rows.h"
#include "qkv/attention/distributed/agreement.h"
#include "qkv/attention/distributed/row_exchange.h"
#include "qkv/attention/engine/parts.h"
#include "qkv/attention/multi_token/passes.h"
#include "qkv/autograd/profile.h"
#include "qkv/base/collectives.h"
#include "qkv/base/error.h"
#include "qkv/op/convert.h"

namespace qkv {
namespace {

using namespace internal;

constexpr const char* op_name = "distributed_multi_token_attention";

// Queries of this rank that follow each other, and what their results depend on.
struct QueryPart {
  int64_t row = 0;   // of the rank
  KeyRange queries;  // positions
  int64_t halo = 0;  // earlier queries
  KeyRange keys;

  int64_t count() const { return queries.end - queries.begin; }
  KeyRange with_halo() const { return {queries.begin - halo, queries.end}; }
};

std::vector<QueryPart> query_parts(const SequenceLayout& layout, int rank, int64_t history) {
  std::vector<QueryPart> parts;
  for (const auto& [index, block, row] : layout.held(rank)) {
    if (block.begin == block.end) continue;
    if (!parts.empty() && parts.back().queries.end == block.begin)
      parts.back().queries.end = block.end;
    else
      parts.push_back({row, {block.begin, block.end}, std::min(history, block.begin), {0, 0}});
  }
  return parts;
}

KeyRange keys_of(const QueryPart& part, const AttentionShape& shape, const MaskPtr& mask) {
  const bool is_masked = static_cast<bool>(mask);  // ! of a mask is another mask
  if (!is_masked) return {0, shape.S};
  AttentionCall call;
  call.shape = shape;
  call.part = whole(shape);
  call.part.query = part.with_halo().begin;
  call.part.queries = part.count() + part.halo;
  call.mask = mask;
  const KeyRange keys = visible_keys(call);
  return keys.begin < keys.end ? keys : KeyRange{0, 0};
}

// The ranges of all ranks: of queries from the layout, of keys from those who know them.
std::vector<std::vector<KeyRange>> queries_of_all(const DistributedSequence& s, int64_t history) {
  std::vector<std::vector<KeyRange>> all;
  for (int rank = 0; rank < s.communicator.size(); ++rank) {
    all.emplace_back();
    for (const QueryPart& part : query_parts(s.queries, rank, history)) all.back().push_back(part.with_halo());
  }
  return all;
}

std::vector<std::vector<KeyRange>> keys_of_all(const DistributedSequence& s, const std::vector<QueryPart>& parts) {
  std::vector<KeyRange> mine;
  for (const QueryPart& part : parts) mine.push_back(part.keys);
  std::vector<std::vector<KeyRange>> all;
  for (const std::vector<std::byte>& bytes : all_gather_bytes(s.communicator, bytes_of(mine))) {
    std::vector<KeyRange> ranges(bytes.size() / sizeof(KeyRange));
    if (!bytes.empty()) std::memcpy(ranges.data(), bytes.data(), bytes.size());
    for (const KeyRange& range : ranges)
      require(range.begin >= 0 && range.end <= s.keys.length(), op_name, "a rank needs the keys [{}, {}) of {}",
              range.begin, range.end, s.keys.length());
    all.push_back(std::move(ranges));
  }
  return all;
}

// A call, prepared on every rank.
struct Spread {
  AttentionShape whole;
  std::vector<QueryPart> parts;
  RowExchange queries, keys;
  Tensor q, k, v;  // of this rank
  MultiTokenOptions options;

  struct Rows {
    Tensor q, k, v;  // f32, with the halo
  };
  Rows gather() const {
    const auto rows = [](const RowExchange& exchange, const Tensor& x) {
      return exchange.gather(x).to(DType::f32);
    };
    return {rows(queries, q), rows(keys, k), rows(keys, v)};
  }
  Rows rows_of(const Rows& all, const QueryPart& part) const {
    return {queries.rows_of(all.q, part.with_halo()), keys.rows_of(all.k, part.keys),
            keys.rows_of(all.v, part.keys)};
  }
  MultiTokenCall call(const Rows& all, const QueryPart& part) const {
    const Rows rows = rows_of(all, part);
    MultiTokenOptions of_part = options;
    of_part.history = part.halo;
    return prepare(rows.q, rows.k, rows.v, of_part,
                   MultiTokenPart{.whole = whole, .query = part.with_halo().begin, .key = part.keys.begin});
  }
};

void check(const Variable& q, const Variable& k, const Variable& v, const DistributedSequence& s,
           const MultiTokenOptions& options) {
  prepare(q.value(), k.value(), v.value(), options,
          MultiTokenPart{.whole = whole_shape(q.value(), k.value(), v.value(), s)});
  check_rows(op_name, q.value(), k.value(), s);
  if (s.distribution == Distribution::heads)
    fail<UsageError>(op_name, "heads cannot be spread: multi-token attention mixes them");
  if (options.history != 0)
    fail<UsageError>(op_name, "history must be 0, got {}: earlier queries are those of other ranks",
                     options.history);
}

Tensor rows(const Tensor& x, int64_t row, int64_t count) { return x.slice(2, row, row + count); }

std::vector<Tensor> spread_backward(const Spread& d, const std::vector<MultiTokenForward>& forward,
                                    const Tensor& dout, const std::vector<Variable>& inputs) {
  const Spread::Rows all = d.gather();
  const Spread::Rows sums = {Tensor::zeros(all.q.shape()), Tensor::zeros(all.k.shape()),
                             Tensor::zeros(all.v.shape())};
  std::vector<Tensor> grads;
  for (const Variable& x : inputs) grads.push_back(Tensor::zeros(x.shape()));
  for (size_t n = 0; n < d.parts.size(); ++n) {
    const QueryPart& part = d.parts[n];
    const MultiTokenGradients g =
        multi_token_backward(d.call(all, part), forward[n], rows(dout, part.row, part.count()));
    const Spread::Rows to = d.rows_of(sums, part);
    add_rows(to.q, g.dq);
    add_rows(to.k, g.dk);
    add_rows(to.v, g.dv);
    for (size_t p = 0; p < g.parameters.size(); ++p) {
      const auto sum = grads[3 + p].span<float>();
      const auto x = g.parameters[p].span<float>();
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += x[i];
    }
  }
  d.queries.add_back(sums.q, grads[0]);
  d.keys.add_back(sums.k, grads[1]);
  d.keys.add_back(sums.v, grads[2]);
  for (size_t n = 0; n < inputs.size(); ++n) grads[n] = grads[n].to(inputs[n].value().dtype());
  return grads;
}

}  // namespace

Variable distributed_multi_token_attention(const Variable& q, const Variable& k, const Variable& v,
                                           const DistributedSequence& sequence, const MultiTokenOptions& options) {
  check(q, k, v, sequence, options);
  const OpScope scope(op_name);
  const std::vector<Variable> inputs = inputs_of(q, k, v, options);
  const AttentionShape shape = whole_shape(q.value(), k.value(), v.value(), sequence);
  const int64_t history = history_of(options);
  agree(sequence, {.shape = shape,
                   .dtype = q.value().dtype(),
                   .with_backward = recording(inputs),
                   .mechanism = 1 + static_cast<uint64_t>(history)});
  std::vector<QueryPart> parts = query_parts(sequence.queries, sequence.communicator.rank(), history);
  for (QueryPart& part : parts) part.keys = keys_of(part, shape, options.mask);
  const Spread d = {shape,
                    parts,
                    RowExchange(sequence.communicator, sequence.queries, queries_of_all(sequence, history)),
                    RowExchange(sequence.communicator, sequence.keys, keys_of_all(sequence, parts)),
                    q.value(),
                    k.value(),
                    v.value(),
                    options};
  Tensor out = Tensor::zeros({q.dim(0), q.dim(1), q.dim(2), v.dim(3)});
  std::vector<MultiTokenForward> forward;
  const Spread::Rows all = d.gather();
  for (const QueryPart& part : d.parts) {
    forward.push_back(multi_token_forward(d.call(all, part), /*with_weights=*/false));
    rows(out, part.row, part.count()).copy_from(forward.back().out);
    forward.back().out = {};
  }
  return convert(record(op_name, inputs, out,
                        [d, forward, inputs](const Tensor& dout, const std::vector<bool>&) {
                          const Tensor rows = dout.dim(3) <= 1 || dout.stride(3) == 1 ? dout : dout.clone();
                          return spread_backward(d, forward, rows, inputs);
                        }),
                 q.value().dtype());
}

}  // namespace qkv
