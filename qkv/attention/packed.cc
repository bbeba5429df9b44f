#include "qkv/attention/packed.h"

#include <algorithm>

#include "qkv/attention/engine/call.h"
#include "qkv/attention/engine/call_work.h"
#include "qkv/attention/engine/engine.h"
#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/op/convert.h"
#include "qkv/op/shape.h"

namespace qkv {
namespace {

using namespace internal;

void check_offsets(std::string_view name, const Offsets& offsets, int64_t total) {
  require(!offsets.empty() && offsets.front() == 0 && offsets.back() == total, "attention_packed",
          "{} must begin with 0 and end with the number of rows, {}", name, total);
  for (size_t n = 1; n < offsets.size(); ++n)
    require(offsets[n - 1] <= offsets[n], "attention_packed",
            "offsets must not decrease: {0}[{1}] is {2} and {0}[{3}] is {4}", name, n - 1, offsets[n - 1], n,
            offsets[n]);
}

// Sequence n of a (1, H, total, D) tensor.
Tensor sequence(const Tensor& x, const Offsets& offsets, size_t n) {
  return x.slice(2, offsets[n], offsets[n + 1]);
}

struct Sequences {
  Offsets q_offsets, k_offsets;
  std::vector<AttentionCall> calls;
  std::vector<ForwardResult> results;

  // Calls run(n) for every sequence: long ones one after another, each computed in parallel; short ones in
  // parallel.
  template <class Run>
  void for_each(Run run) const {
    const auto work = [&](size_t n) { return calls[n].shape.T * calls[n].shape.S; };
    int64_t total = 0;
    for (size_t n = 0; n < calls.size(); ++n) total += work(n);
    std::vector<size_t> concurrent;
    for (size_t n = 0; n < calls.size(); ++n) {
      if (work(n) * 4 > total)
        run(n);
      else
        concurrent.push_back(n);
    }
    // The longest first, so that threads finish at about the same time.
    std::stable_sort(concurrent.begin(), concurrent.end(), [&](size_t a, size_t b) { return work(a) > work(b); });
    parallel_for(static_cast<int64_t>(concurrent.size()),
                 [&](int64_t i) { run(concurrent[static_cast<size_t>(i)]); });
  }
};

std::vector<Tensor> backward(const Sequences& s, const std::vector<Variable>& inputs, const Tensor& dout) {
  std::vector<Tensor> grads;
  for (size_t i = 0; i < inputs.size(); ++i)
    grads.push_back(Tensor::zeros(inputs[i].shape(), inputs[i].value().dtype()));
  std::vector<BackwardResult> results(s.calls.size());
  s.for_each([&](size_t n) {
    BackwardResult& r = results[n];
    const DType computed = s.calls[n].q.dtype();
    const ForwardResult forward = {convert(s.results[n].out, computed), s.results[n].statistics};
    r = backward_pass(s.calls[n], forward, convert(sequence(dout, s.q_offsets, n), computed));
    sequence(grads[0], s.q_offsets, n).copy_from(r.dq);
    sequence(grads[1], s.k_offsets, n).copy_from(r.dk);
    sequence(grads[2], s.k_offsets, n).copy_from(r.dv);
    r.dq = r.dk = r.dv = Tensor();
  });
  for (const BackwardResult& r : results)
    for (size_t p = 0; p < r.parameters.size(); ++p)
      for (int64_t i = 0; i < r.parameters[p].numel(); ++i)
        grads[3 + p].span<float>()[static_cast<size_t>(i)] += r.parameters[p].span<float>()[static_cast<size_t>(i)];
  return grads;
}

// q, k, v as (1, heads, total, width); the result has this type.
Variable run(const Variable& q, const Variable& k, const Variable& v, const Offsets& q_offsets,
             const Offsets& k_offsets, const AttentionOptions& options, DType type) {
  check_inputs(q.value(), k.value(), v.value());
  if (options.score && options.score->reads_positions())
    fail("attention_packed",
         "{} depends on the positions of keys, so it cannot take packed sequences: call attention() for each",
         options.score->name());
  if (const DType dtype = q.value().dtype();
      dtype == DType::bf16 &&
      !reads_bf16(select_algorithm({shape_of(q.value(), k.value(), v.value(), options), dtype, options, true}))) {
    const auto floats = [](const Variable& x) { return convert(x, DType::f32); };
    return run(floats(q), floats(k), floats(v), q_offsets, k_offsets, options, type);
  }
  const OpScope scope("attention_packed");
  const Score::Prepared prepared = options.score ? options.score->prepare(q, k) : Score::Prepared{q, k};
  const std::vector<Variable> inputs = inputs_of(prepared.q, prepared.k, v, options);
  auto s = std::make_shared<Sequences>();
  s->q_offsets = q_offsets;
  s->k_offsets = k_offsets;
  for (size_t n = 0; n + 1 < q_offsets.size(); ++n)
    s->calls.push_back(
        prepare({sequence(prepared.q.value(), q_offsets, n), sequence(prepared.k.value(), k_offsets, n)},
                sequence(v.value(), k_offsets, n), options, recording(inputs)));
  s->results.resize(s->calls.size());
  const OpWork work = forward_work(s->calls);
  count_work(work);
  Tensor out = Tensor::empty({q.dim(2), q.dim(1), v.dim(3)}, type).reshape({1, q.dim(2), q.dim(1), v.dim(3)});
  out = out.transpose(1, 2);
  s->for_each([&](size_t n) {
    s->results[n] = forward_pass(s->calls[n]);
    Tensor rows = sequence(out, q_offsets, n);
    rows.copy_from(s->results[n].out.to(type));
    s->results[n].out = rows;
  });
  return record("attention_packed", inputs, out, [s, inputs, work](const Tensor& dout, const std::vector<bool>&) {
    count_work(backward_work(work));
    return backward(*s, inputs, dout);
  });
}

}  // namespace

Variable attention_packed(const Variable& q, const Variable& k, const Variable& v, const Offsets& q_offsets,
                          const Offsets& k_offsets, const AttentionOptions& options) {
  for (const Variable* x : {&q, &k, &v})
    require(x->value().rank() == 3, "attention_packed",
            "expected three axes, q (T,H,D), k (S,G,D), v (S,G,E); got {}", x->shape());
  require(q_offsets.size() == k_offsets.size(), "attention_packed", "q_offsets has {} numbers, k_offsets has {}",
          q_offsets.size(), k_offsets.size());
  check_offsets("q_offsets", q_offsets, q.dim(0));
  check_offsets("k_offsets", k_offsets, k.dim(0));
  const auto heads_first = [](const Variable& x) {
    return transpose(reshape(x, {1, x.dim(0), x.dim(1), x.dim(2)}), 1, 2);
  };
  const Variable out = transpose(
      run(heads_first(q), heads_first(k), heads_first(v), q_offsets, k_offsets, options, q.value().dtype()), 1, 2);
  return reshape(out, {out.dim(1), out.dim(2), out.dim(3)});
}

Tensor attention_packed(const Tensor& q, const Tensor& k, const Tensor& v, const Offsets& q_offsets,
                        const Offsets& k_offsets, const AttentionOptions& options) {
  const NoGrad guard;
  return attention_packed(Variable(q), Variable(k), Variable(v), q_offsets, k_offsets, options).value();
}

}  // namespace qkv
