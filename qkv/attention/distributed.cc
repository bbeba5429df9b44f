#include "qkv/attention/distributed.h"

#include "qkv/attention/distributed/distributed_call.h"
#include "qkv/attention/distributed/heads.h"
#include "qkv/attention/distributed/ring.h"
#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/op/convert.h"

namespace qkv {
namespace {

using namespace internal;

std::vector<Tensor> gradients(const BackwardResult& r) {
  std::vector<Tensor> all = {r.dq, r.dk, r.dv};
  all.insert(all.end(), r.parameters.begin(), r.parameters.end());
  return all;
}

Variable run_ring(const DistributedCall& d) {
  const ForwardResult forward = ring_forward(d);
  return record("distributed_attention", d.inputs, forward.out,
                [d, forward](const Tensor& dout, const std::vector<bool>&) {
                  return gradients(ring_backward(d, forward, dout));
                });
}

Variable run_heads(const DistributedCall& d) {
  const AttentionCall heads = gather_heads(d);
  const HeadsForward forward = heads_forward(d, heads);
  return record("distributed_attention", d.inputs, forward.out,
                [d, heads, of_heads = forward.of_heads](const Tensor& dout, const std::vector<bool>&) {
                  return gradients(heads_backward(d, heads, of_heads, dout));
                });
}

}  // namespace

Variable distributed_attention(const Variable& q, const Variable& k, const Variable& v,
                               const DistributedSequence& sequence, const AttentionOptions& options) {
  const OpScope scope("distributed_attention");
  const DistributedCall d = prepare_distributed(q, k, v, sequence, options);
  const Distribution chosen = plan(d, sequence.distribution).chosen;
  return convert(chosen == Distribution::heads ? run_heads(d) : run_ring(d), q.value().dtype());
}

Tensor distributed_attention(const Tensor& q, const Tensor& k, const Tensor& v, const DistributedSequence& sequence,
                             const AttentionOptions& options) {
  const NoGrad guard;
  return distributed_attention(Variable(q), Variable(k), Variable(v), sequence, options).value();
}

DistributedPlan distributed_plan(const Variable& q, const Variable& k, const Variable& v,
                                 const DistributedSequence& sequence, const AttentionOptions& options) {
  return plan(prepare_distributed(q, k, v, sequence, options), sequence.distribution);
}

std::string DistributedPlan::text() const {
  const auto line = [&](const char* name, bool is_chosen, const std::string& rest) {
    return fmt::format("{}{}: {}\n", is_chosen ? "" : "not ", name, rest);
  };
  const auto bytes = [](int64_t forward, int64_t backward) {
    return fmt::format("{} bytes in the forward, {} in the backward", forward, backward);
  };
  return line("ring", chosen == Distribution::ring, bytes(ring_forward, ring_backward)) +
         line("heads", chosen == Distribution::heads,
              why_not_heads.empty() ? bytes(heads_forward, heads_backward) : why_not_heads);
}

}  // namespace qkv
