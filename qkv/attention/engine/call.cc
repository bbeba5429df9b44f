#include "qkv/attention/engine/call.h"

#include "qkv/attention/engine/pack.h"
#include "qkv/attention/normalize/softmax.h"
#include "qkv/attention/score/dot.h"
#include "qkv/base/error.h"

namespace qkv::internal {

void check_inputs(const Tensor& q, const Tensor& k, const Tensor& v) {
  require((q.dtype() == DType::f32 || q.dtype() == DType::bf16) && k.dtype() == q.dtype() && v.dtype() == q.dtype(),
          "attention", "q, k and v must be f32, or all bf16; q is {}, k is {}, v is {}", name_of(q.dtype()),
          name_of(k.dtype()), name_of(v.dtype()));
  check_shapes(q, k, v);
}

void check_shapes(const Tensor& q, const Tensor& k, const Tensor& v) {
  // Shapes are formatted only on failure: this runs for every token of a translation.
  const auto check = [&](bool holds, std::string_view message) {
    if (holds) return;
    fail("attention", "{}; q is {}, k is {}, v is {}", message, describe("BHTD", q.shape()),
         describe("BGSD", k.shape()), describe("BGSE", v.shape()));
  };
  for (const Tensor* x : {&q, &k, &v}) {
    check(x->rank() == 4, "expected four axes, q (B,H,T,D), k (B,G,S,D), v (B,G,S,E)");
    check(x->dim(3) <= 1 || x->stride(3) == 1, "the last axis must be contiguous");
  }
  check(q.dim(0) == k.dim(0) && q.dim(0) == v.dim(0), "q, k and v must have the same batch size B");
  check(k.dim(1) == v.dim(1), "k and v must have the same number of heads G");
  check(k.dim(1) > 0 && q.dim(1) % k.dim(1) == 0, "G key/value heads must divide H query heads");
  check(k.dim(2) == v.dim(2), "k and v must have the same number of keys S");
}

AttentionShape shape_of(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  const int64_t D = options.score ? options.score->prepared_width(q.dim(3), k.dim(3)) : q.dim(3);
  return {.B = q.dim(0), .H = q.dim(1), .G = k.dim(1), .T = q.dim(2), .S = k.dim(2), .D = D, .E = v.dim(3)};
}

namespace {

Tensor with_contiguous_rows(const Tensor& x) { return x.dim(3) <= 1 || x.stride(3) == 1 ? x : x.clone(); }

}  // namespace

AttentionCall prepare(const Score::Prepared& prepared, const Tensor& v, const AttentionOptions& options,
                      bool with_backward) {
  const Tensor &q = prepared.q.value(), &k = prepared.k.value();
  return prepare(
      prepared, v, options, with_backward,
      {.B = q.dim(0), .H = q.dim(1), .G = k.dim(1), .T = q.dim(2), .S = k.dim(2), .D = q.dim(3), .E = v.dim(3)});
}

AttentionCall prepare(const Score::Prepared& prepared, const Tensor& v, const AttentionOptions& options,
                      bool with_backward, const AttentionShape& shape) {
  const Tensor &q = prepared.q.value(), &k = prepared.k.value();
  if (q.dim(3) != k.dim(3))
    fail("attention", "queries and keys must have the same width D for {}: q is {}, k is {}",
         options.score ? options.score->name() : "scaled_dot()", describe("BHTD", q.shape()),
         describe("BGSD", k.shape()));
  AttentionCall call = {.shape = shape,
                        .part = whole(shape),
                        .q = with_contiguous_rows(q),
                        .k = with_contiguous_rows(k),
                        .v = v,
                        .score = options.score ? options.score : scaled_dot(),
                        .modify = options.modify,
                        .mask = options.mask,
                        .normalize = options.normalize ? options.normalize : softmax(),
                        .reweigh = options.reweigh};
  call.mask = call.mask & call.score->mask(call.shape);
  if (call.mask) call.mask->check(call.shape);
  for (const ModifierPtr& modifier : call.modify) modifier->check(call.shape);
  call.normalize->check(call.shape);
  for (const ReweigherPtr& reweigher : call.reweigh) reweigher->check(call.shape);
  call.algorithm = select_algorithm({call.shape, q.dtype(), options, with_backward});
  if (call.algorithm == Algorithm::bf16_tiles)
    for (Tensor* x : {&call.q, &call.k, &call.v})
      if (!has_vnni_alignment(*x)) *x = x->clone();
  return call;
}

std::vector<Variable> inputs_of(const Variable& q, const Variable& k, const Variable& v,
                                const AttentionOptions& options) {
  std::vector<Variable> inputs = {q, k, v};
  const auto append = [&inputs](const std::vector<Variable>& more) {
    inputs.insert(inputs.end(), more.begin(), more.end());
  };
  if (options.score) append(options.score->parameters());
  for (const ModifierPtr& modifier : options.modify) append(modifier->parameters());
  if (options.normalize) append(options.normalize->parameters());
  for (const ReweigherPtr& reweigher : options.reweigh) append(reweigher->parameters());
  return inputs;
}

}  // namespace qkv::internal
