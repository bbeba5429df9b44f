#include "qkv/attention/distributed/heads.h"

#include "qkv/attention/distributed/tensor_bytes.h"
#include "qkv/attention/engine/call_work.h"

namespace qkv::internal {
namespace {

Tensor heads_of(const Tensor& x, int rank, int ranks) {
  const int64_t n = x.dim(1) / ranks;
  return x.slice(1, rank * n, (rank + 1) * n);
}

// (B,heads,rows,width) of the rows of this rank -> (B,heads/N,T,width) of its heads.
Tensor rows_to_heads(const DistributedCall& d, const SequenceLayout& layout, const Tensor& x) {
  const int own = d.rank(), N = d.ranks();
  const int64_t B = x.dim(0), heads = x.dim(1) / N, width = x.dim(3);
  Tensor all = Tensor::empty({B, heads, layout.length(), width}, x.dtype());
  layout.put_rows(heads_of(x, own, N), 2, own, all);
  for (int step = 1; step < N; ++step) {
    const int to = (own + step) % N, from = (own + N - step) % N;
    Tensor received = Tensor::empty({B, heads, layout.rows(from), width}, x.dtype());
    d.communicator->exchange(to, tensor_bytes(heads_of(x, to, N).contiguous_copy()), from,
                             writable_tensor_bytes(received));
    layout.put_rows(received, 2, from, all);
  }
  return all;
}

// And back.
Tensor heads_to_rows(const DistributedCall& d, const SequenceLayout& layout, const Tensor& x) {
  const int own = d.rank(), N = d.ranks();
  const int64_t B = x.dim(0), heads = x.dim(1), width = x.dim(3);
  Tensor all = Tensor::empty({B, heads * N, layout.rows(own), width}, x.dtype());
  heads_of(all, own, N).copy_from(layout.rows_of(x, 2, own));
  for (int step = 1; step < N; ++step) {
    const int to = (own + step) % N, from = (own + N - step) % N;
    Tensor received = Tensor::empty({B, heads, layout.rows(own), width}, x.dtype());
    d.communicator->exchange(to, tensor_bytes(layout.rows_of(x, 2, to).contiguous_copy()), from,
                             writable_tensor_bytes(received));
    heads_of(all, from, N).copy_from(received);
  }
  return all;
}

}  // namespace

AttentionCall gather_heads(const DistributedCall& d) {
  AttentionCall call = d.call;
  call.q = rows_to_heads(d, d.query_layout, d.call.q);
  call.k = rows_to_heads(d, d.key_layout, d.call.k);
  call.v = rows_to_heads(d, d.key_layout, d.call.v);
  call.part.heads = d.call.shape.H / d.ranks();
  call.part.head = d.rank() * call.part.heads;
  return call;
}

HeadsForward heads_forward(const DistributedCall& d, const AttentionCall& heads) {
  count_work(forward_work(std::span(&heads, 1)));
  ForwardResult of_heads = forward_pass(heads);
  Tensor out = heads_to_rows(d, d.query_layout, of_heads.out);
  return {std::move(of_heads), std::move(out)};
}

BackwardResult heads_backward(const DistributedCall& d, const AttentionCall& heads, const ForwardResult& of_heads,
                              const Tensor& dout) {
  count_work(backward_work(forward_work(std::span(&heads, 1))));
  const BackwardResult r = backward_pass(heads, of_heads, rows_to_heads(d, d.query_layout, dout));
  return {heads_to_rows(d, d.query_layout, r.dq), heads_to_rows(d, d.key_layout, r.dk),
          heads_to_rows(d, d.key_layout, r.dv), r.parameters};
}

}  // namespace qkv::internal
