#include "qkv/attention/engine/call_work.h"

#include "qkv/attention/engine/pair_counts.h"

namespace qkv::internal {

// Counting takes time: it is in a span of its own.
OpWork forward_work(std::span<const AttentionCall> calls) {
  OpWork work;
  if (!is_profiling()) return work;
  const OpScope counting("counting of visible pairs", OpPass::other);
  for (const AttentionCall& call : calls) {
    const AttentionShape& s = call.shape;
    const int64_t numbers =
        call.q.numel() + call.k.numel() + call.v.numel() + s.B * call.part.heads * call.part.queries * s.E;
    work.flops += visible_flops(call, count_pairs(call));
    work.bytes += static_cast<double>(numbers * size_of(call.q.dtype()));
    work.numbers = call.q.dtype() == DType::bf16 ? WeightFormat::bf16 : WeightFormat::f32;
    work.shape = {s.B, s.H, s.T, s.S, s.D};
  }
  return work;
}

OpWork backward_work(OpWork forward) {
  forward.flops *= 2.5;
  forward.bytes *= 2;
  return forward;
}

}  // namespace qkv::internal
