#include "qkv/attention/attention.h"

#include "qkv/attention/engine/call.h"
#include "qkv/attention/engine/call_work.h"
#include "qkv/attention/engine/engine.h"
#include "qkv/attention/forward_backward.h"
#include "qkv/base/error.h"
#include "qkv/op/convert.h"

namespace qkv {
namespace {

using namespace internal;

enum class Weights { none, all, mean };

struct Request {
  const Variable &q, &k, &v;
  const AttentionOptions& options;
  Weights weights = Weights::none;
  bool with_backward = false;            // a backward will follow, even if nothing is recorded
  const ForwardResult* known = nullptr;  // the result of an earlier forward, which is not computed again
};

struct Response {
  Variable out;
  ForwardResult forward;
  Tensor weights, lse;
};

struct Prepared {
  AttentionCall call;
  // Where it is recorded:
  std::vector<Variable> inputs;
  Tensor q, k, v;  // of the call; in bf16 where these numbers were converted to f32
};

Prepared prepare_as(DType dtype, const Request& r) {
  const Variable q = convert(r.q, dtype), k = convert(r.k, dtype), v = convert(r.v, dtype);
  const Score::Prepared prepared = r.options.score ? r.options.score->prepare(q, k) : Score::Prepared{q, k};
  std::vector<Variable> inputs;
  if (recording()) inputs = inputs_of(prepared.q, prepared.k, v, r.options);
  const bool is_recorded = recording(inputs), with_backward = r.with_backward || is_recorded;
  Prepared p = {prepare(prepared, v.value(), r.options, with_backward), std::move(inputs), {}, {}, {}};
  p.call.keeps_statistics = with_backward || r.weights != Weights::none;
  if (!is_recorded) return p;
  // Numbers that were not converted are those of the call, which may be copies: prepare() aligns bf16.
  const auto kept = [&](const Tensor& of_call, const Variable& read, const Variable& converted,
                        const Variable& given) {
    const bool was_converted =
        given.value().dtype() != dtype && read.value().storage() == converted.value().storage();
    return was_converted ? given.value() : of_call;
  };
  p.q = kept(p.call.q, prepared.q, q, r.q);
  p.k = kept(p.call.k, prepared.k, k, r.k);
  p.v = kept(p.call.v, v, v, r.v);
  return p;
}

// bf16 is converted to f32 before the score prepares it, unless an algorithm reads bf16. Whether a gradient is recorded,
// which excludes the single-query algorithm, is known from the prepared inputs.
Prepared prepare_inputs(const Request& r) {
  const Tensor &q = r.q.value(), &k = r.k.value(), &v = r.v.value();
  check_inputs(q, k, v);
  if (q.dtype() == DType::f32) return prepare_as(DType::f32, r);
  if (reads_bf16(select_algorithm({shape_of(q, k, v, r.options), DType::bf16, r.options}))) {
    Prepared prepared = prepare_as(DType::bf16, r);
    if (reads_bf16(prepared.call.algorithm)) return prepared;
  }
  return prepare_as(DType::f32, r);
}

ForwardResult forward_of(const Request& r, const AttentionCall& call) {
  if (!r.known) return forward_pass(call);
  return {r.known->out.to(call.q.dtype()), r.known->statistics};
}

// The result has the type of the inputs of attention(), and so has what is kept for the backward: where bf16 is computed as
// f32, that is half of the memory.
Variable recorded(Prepared p, const ForwardResult& forward, const OpWork& work, DType type) {
  const Tensor out = convert(forward.out, type);
  if (!recording(p.inputs)) return out;
  const DType computed = p.call.q.dtype();
  p.call.q = p.q, p.call.k = p.k, p.call.v = p.v;
  return record("attention", p.inputs, out,
                [call = p.call, result = ForwardResult{out, forward.statistics}, work, computed](
                    const Tensor& dout, const std::vector<bool>&) {
                  count_work(backward_work(work));
                  AttentionCall c = call;
                  for (Tensor* x : {&c.q, &c.k, &c.v}) *x = convert(*x, computed);
                  BackwardResult g =
                      backward_pass(c, {convert(result.out, computed), result.statistics}, convert(dout, computed));
                  std::vector<Tensor> grads = {g.dq, g.dk, g.dv};
                  grads.insert(grads.end(), g.parameters.begin(), g.parameters.end());
                  return grads;
                });
}

Response run(const Request& r) {
  const OpScope scope("attention");
  Prepared prepared = prepare_inputs(r);
  const AttentionCall& call = prepared.call;
  const OpWork work = forward_work(std::span(&call, 1));
  count_work(work);
  Response response = {.out = {}, .forward = forward_of(r, call), .weights = {}, .lse = {}};
  const ForwardResult& forward = response.forward;
  if (r.weights != Weights::none) {
    response.weights = r.weights == Weights::all ? attention_weights(call, forward.statistics)
                                                 : mean_attention_weights(call, forward.statistics);
    response.lse = log_sum_exp(forward.statistics);
  }
  response.out = recorded(std::move(prepared), forward, work, r.q.value().dtype());
  return response;
}

AttentionResult run_without_gradients(const Tensor& q, const Tensor& k, const Tensor& v,
                                      const AttentionOptions& options, Weights weights) {
  const NoGrad guard;
  Response response = run({q, k, v, options, weights});
  return {response.out.value(), response.weights, response.lse};
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  return run_without_gradients(q, k, v, options, Weights::none).out;
}

Variable attention(const Variable& q, const Variable& k, const Variable& v, const AttentionOptions& options) {
  return run({q, k, v, options}).out;
}

Tensor attention(const Tensor& q, const KeyValueCache& cache, const AttentionOptions& options) {
  const Tensor k = cache.stored_keys(), v = cache.stored_values();
  if (k.dtype() == q.dtype()) return attention(q, k, v, options);
  require(q.dtype() == DType::f32 || q.dtype() == DType::bf16, "attention", "q must be f32 or bf16, got {}",
          name_of(q.dtype()));
  check_shapes(q, k, v);
  const bool reads_stored = !options.score || options.score->reads_stored_keys();
  if (reads_stored &&
      select_algorithm({shape_of(q, k, v, options), q.dtype(), options}) == Algorithm::single_query) {
    AttentionCall call = prepare({q, k}, v, options, /*with_backward=*/false);
    call.keeps_statistics = false;
    return forward_pass(call).out;
  }
  return attention(q, cache.keys().to(q.dtype()), cache.values().to(q.dtype()), options);
}

AttentionResult attention_with_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                       const AttentionOptions& options) {
  return run_without_gradients(q, k, v, options, Weights::all);
}

AttentionVariableResult attention_with_weights(const Variable& q, const Variable& k, const Variable& v,
                                               const AttentionOptions& options) {
  Response response = run({q, k, v, options, Weights::all});
  return {response.out, response.weights, response.lse};
}

AttentionResult attention_with_mean_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                            const AttentionOptions& options) {
  return run_without_gradients(q, k, v, options, Weights::mean);
}

AttentionForward attention_forward(const Tensor& q, const Tensor& k, const Tensor& v,
                                   const AttentionOptions& options) {
  const NoGrad guard;
  const Response response = run({.q = q, .k = k, .v = v, .options = options, .with_backward = true});
  const SoftmaxStatistics& statistics = response.forward.statistics;
  return {response.out.value(), statistics.maximum, statistics.inverse_sum};
}

AttentionGradients attention_backward(const AttentionForward& forward, const Tensor& q, const Tensor& k,
                                      const Tensor& v, const Tensor& dout, const AttentionOptions& options) {
  require(dout.shape() == forward.out.shape() && dout.dtype() == forward.out.dtype(), "attention_backward",
          "the gradient of the output is {} {}, the output {} {}", name_of(dout.dtype()),
          describe("BHTE", dout.shape()), name_of(forward.out.dtype()), describe("BHTE", forward.out.shape()));
  // Records the call with the known forward, and runs the backward of that record.
  const Variable::Options with_gradient{.requires_grad = true};
  const Variable x(q, with_gradient), y(k, with_gradient), z(v, with_gradient);
  const ForwardResult known = {forward.out, {forward.maximum, forward.inverse_sum}};
  run({.q = x, .k = y, .v = z, .options = options, .known = &known}).out.backward(dout);
  // A location score does not read the keys: they have no gradient.
  const auto gradient = [](const Variable& of) {
    return of.grad().defined() ? of.grad() : Tensor::zeros(of.shape(), of.value().dtype());
  };
  return {gradient(x), gradient(y), gradient(z)};
}

}  // namespace qkv
