#include "qkv/attention/distributed/ring.h"

#include <algorithm>

#include "qkv/attention/distributed/add_rows.h"
#include "qkv/attention/distributed/tensor_bytes.h"
#include "qkv/attention/engine/call_work.h"
#include "qkv/attention/engine/parts.h"

namespace qkv::internal {
namespace {

// Some keys of one block, and what belongs to them: keys and values, or their gradients.
struct KeyPart {
  size_t block = 0;
  KeyRange keys;
  Tensor k, v;  // (B,G,keys,D or E)

  KeyPart slice(const KeyRange& range) const {
    const int64_t begin = range.begin - keys.begin, end = range.end - keys.begin;
    return {block, range, k.slice(2, begin, end), v.slice(2, begin, end)};
  }
};

// What `reader` needs of the blocks of `owner`.
std::vector<KeyPart> ranges(const DistributedCall& d, int owner, int reader) {
  std::vector<KeyPart> all;
  const auto& blocks = d.key_layout.blocks();
  for (size_t i = 0; i < blocks.size(); ++i) {
    const KeyRange& range = d.needed[static_cast<size_t>(reader)][i];
    if (blocks[i].rank == owner && range.begin < range.end) all.push_back({i, range, {}, {}});
  }
  return all;
}

// The parts as views of the rows of this rank, which owns them.
std::vector<KeyPart> own_parts(const DistributedCall& d, int reader, const Tensor& k, const Tensor& v) {
  std::vector<KeyPart> all = ranges(d, d.rank(), reader);
  for (KeyPart& part : all)
    for (const SequenceLayout::Held& held : d.key_layout.held(d.rank())) {
      if (held.index != part.block) continue;
      const int64_t begin = held.row + part.keys.begin - held.block.begin;
      part.k = k.slice(2, begin, begin + part.keys.end - part.keys.begin);
      part.v = v.slice(2, begin, begin + part.keys.end - part.keys.begin);
    }
  return all;
}

// Memory for the parts, one after another in one tensor: a message.
Tensor new_message(const AttentionShape& s, DType dtype, std::vector<KeyPart>& parts) {
  int64_t keys = 0;
  for (const KeyPart& part : parts) keys += part.keys.end - part.keys.begin;
  Tensor message = Tensor::empty({s.B * s.G * keys * (s.D + s.E)}, dtype);
  int64_t at = 0;
  for (KeyPart& part : parts) {
    const int64_t n = part.keys.end - part.keys.begin;
    const auto next = [&](int64_t width) {
      const int64_t begin = at;
      at += s.B * s.G * n * width;
      return message.slice(0, begin, at).reshape({s.B, s.G, n, width});
    };
    part.k = next(s.D);
    part.v = next(s.E);
  }
  return message;
}

Tensor packed(const AttentionShape& s, const std::vector<KeyPart>& parts, DType dtype) {
  std::vector<KeyPart> copies = parts;
  const Tensor message = new_message(s, dtype, copies);
  for (size_t i = 0; i < parts.size(); ++i) {
    copies[i].k.copy_from(parts[i].k);
    copies[i].v.copy_from(parts[i].v);
  }
  return message;
}

// Calls visit(parts, to, from) for the keys and values of each rank that this one needs: its own first, then those of the
// rank before it, and so on. `from` has sent them, and `to` is the rank that got those of this one at the same time.
template <class Visit>
void for_each_rank(const DistributedCall& d, Visit visit) {
  const int own = d.rank(), n = d.ranks();
  visit(own_parts(d, own, d.call.k, d.call.v), own, own);
  for (int step = 1; step < n; ++step) {
    const int to = (own + step) % n, from = (own + n - step) % n;
    std::vector<KeyPart> parts = ranges(d, from, own);
    Tensor received = new_message(d.call.shape, d.call.k.dtype(), parts);
    exchange(*d.communicator, to, packed(d.call.shape, own_parts(d, to, d.call.k, d.call.v), d.call.k.dtype()),
             from, received);
    visit(std::move(parts), to, from);
  }
}

Tensor rows(const Tensor& x, const QueryNeeds& q) {
  return x.slice(2, q.queries.row, q.queries.row + q.queries.block.size());
}

AttentionCall of_queries(const DistributedCall& d, const QueryNeeds& q) {
  AttentionCall call = d.call;
  call.q = rows(d.call.q, q);
  call.part.query = q.queries.block.begin;
  call.part.queries = q.queries.block.size();
  return call;
}

// Calls visit(call, keys, i) for a block of queries and the keys of parts[i] that it sees.
template <class Visit>
void for_each_part(const AttentionCall& of_queries, const QueryNeeds& q, const std::vector<KeyPart>& parts,
                   Visit visit) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const KeyRange& keys = q.keys[parts[i].block];
    if (keys.begin >= keys.end) continue;
    const KeyPart seen = parts[i].slice(keys);
    AttentionCall call = of_queries;
    call.k = seen.k;
    call.v = seen.v;
    call.part.key = keys.begin;
    call.part.keys = keys.end - keys.begin;
    visit(call, keys, i);
  }
}

// The gradients of a rank, in f32 until all parts are summed.
struct GradientSums {
  Tensor dq, dk, dv;
  std::vector<Tensor> parameters;

  explicit GradientSums(const DistributedCall& d)
      : dq(Tensor::zeros(d.call.q.shape())),
        dk(Tensor::zeros(d.call.k.shape())),
        dv(Tensor::zeros(d.call.v.shape())) {
    for (size_t i = 3; i < d.inputs.size(); ++i) parameters.push_back(Tensor::zeros(d.inputs[i].shape()));
  }

  void add_parameters(const std::vector<Tensor>& more) {
    for (size_t p = 0; p < more.size(); ++p) {
      const auto sum = parameters[p].span<float>();
      const auto x = more[p].span<float>();
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += x[i];
    }
  }
};

}  // namespace

ForwardResult ring_forward(const DistributedCall& d) {
  std::vector<AttentionCall> calls;
  std::vector<SoftmaxState> states;
  for (const QueryNeeds& q : d.queries) {
    calls.push_back(of_queries(d, q));
    states.emplace_back(calls.back());
  }
  for_each_rank(d, [&](const std::vector<KeyPart>& parts, int, int) {
    for (size_t n = 0; n < calls.size(); ++n)
      for_each_part(calls[n], d.queries[n], parts, [&](const AttentionCall& call, const KeyRange&, size_t) {
        count_work(forward_work(std::span(&call, 1)));
        add_keys(call, states[n]);
      });
  });
  if (calls.size() == 1) return finish(calls[0], states[0]);
  AttentionCall all = d.call;
  all.part.queries = d.call.q.dim(2);
  ForwardResult result = empty_result(all);
  for (size_t n = 0; n < calls.size(); ++n) {
    const ForwardResult part = finish(calls[n], states[n]);
    rows(result.out, d.queries[n]).copy_from(part.out);
    rows(result.statistics.maximum, d.queries[n]).copy_from(part.statistics.maximum);
    rows(result.statistics.inverse_sum, d.queries[n]).copy_from(part.statistics.inverse_sum);
  }
  return result;
}

BackwardResult ring_backward(const DistributedCall& d, const ForwardResult& forward, const Tensor& dout) {
  GradientSums sums(d);
  std::vector<AttentionCall> calls;
  std::vector<ForwardResult> results;
  for (const QueryNeeds& q : d.queries) {
    calls.push_back(of_queries(d, q));
    results.push_back({rows(forward.out, q),
                       {rows(forward.statistics.maximum, q).contiguous_copy(),
                        rows(forward.statistics.inverse_sum, q).contiguous_copy()}});
  }
  for_each_rank(d, [&](const std::vector<KeyPart>& parts, int to, int from) {
    // The gradients of own keys are added to where they belong, those of others to a message.
    std::vector<KeyPart> gradients = parts;
    Tensor message;
    if (from == d.rank()) {
      gradients = own_parts(d, d.rank(), sums.dk, sums.dv);
    } else {
      message = new_message(d.call.shape, DType::f32, gradients);
      message.fill(0.0f);
    }
    for (size_t n = 0; n < calls.size(); ++n)
      for_each_part(calls[n], d.queries[n], parts, [&](AttentionCall& call, const KeyRange& keys, size_t i) {
        count_work(backward_work(forward_work(std::span(&call, 1))));
        const BackwardResult r = backward_pass(call, results[n], rows(dout, d.queries[n]), DType::f32);
        calls[n].counts_normalizer = false;
        add_rows(rows(sums.dq, d.queries[n]), r.dq);
        const KeyPart gradient = gradients[i].slice(keys);
        add_rows(gradient.k, r.dk);
        add_rows(gradient.v, r.dv);
        sums.add_parameters(r.parameters);
      });
    if (from == d.rank()) return;
    std::vector<KeyPart> returned = ranges(d, d.rank(), to);
    Tensor received = new_message(d.call.shape, DType::f32, returned);
    exchange(*d.communicator, from, message, to, received);
    const std::vector<KeyPart> own = own_parts(d, to, sums.dk, sums.dv);
    for (size_t i = 0; i < own.size(); ++i) {
      add_rows(own[i].k, returned[i].k);
      add_rows(own[i].v, returned[i].v);
    }
  });
  const DType dtype = d.call.q.dtype();
  return {sums.dq.to(dtype), sums.dk.to(dtype), sums.dv.to(dtype), sums.parameters};
}

}  // namespace qkv::internal
