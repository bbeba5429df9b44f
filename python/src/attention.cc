#include "qkv/attention/attention.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/bind.h"
#include "python/src/parts.h"
#include "python/src/rank.h"
#include "qkv/attention/explain.h"
#include "qkv/attention/forward_backward.h"
#include "qkv/attention/packed.h"

namespace qkv::python {
namespace {

enum class Weights { none, all, mean };

nb::any attend(nb::handle q, nb::handle k, nb::handle v, nb::handle score, nb::handle modify, nb::handle mask,
               nb::handle normalize, nb::handle reweigh, int weights, bool numpy) {
  const Inputs in(tensor_of(q, "q"), tensor_of(k, "k"), tensor_of(v, "v"));
  const AttentionOptions options = Arguments{score, modify, mask, normalize, reweigh}.options();
  const auto wanted = static_cast<Weights>(weights);
  AttentionResult result;
  {
    const nb::gil_scoped_release unlocked;
    if (wanted == Weights::all)
      result = attention_with_weights(in.q, in.k, in.v, options);
    else if (wanted == Weights::mean)
      result = attention_with_mean_weights(in.q, in.k, in.v, options);
    else
      result.out = attention(in.q, in.k, in.v, options);
  }
  const nb::any out = array_of(in.result(result.out), numpy);
  if (wanted == Weights::none) return out;
  const Tensor shown = wanted == Weights::all ? in.result(result.weights) : in.without_heads(result.weights);
  return nb::borrow<nb::any>(nb::make_tuple(out, array_of(shown, numpy), array_of(in.result(result.lse), numpy)));
}

nb::any packed(nb::handle q, nb::handle k, nb::handle v, const Offsets& q_offsets, const Offsets& k_offsets,
               nb::handle score, nb::handle modify, nb::handle mask, nb::handle normalize, nb::handle reweigh,
               bool numpy) {
  const Tensor x = tensor_of(q, "q"), y = tensor_of(k, "k"), z = tensor_of(v, "v");
  const AttentionOptions options = Arguments{score, modify, mask, normalize, reweigh}.options();
  Tensor out;
  {
    const nb::gil_scoped_release unlocked;
    out = attention_packed(x, y, z, q_offsets, k_offsets, options);
  }
  return array_of(out, numpy);
}

nb::any forward(nb::handle q, nb::handle k, nb::handle v, nb::handle score, nb::handle modify, nb::handle mask,
                nb::handle normalize, nb::handle reweigh, bool numpy) {
  const Tensor x = tensor_of(q, "q"), y = tensor_of(k, "k"), z = tensor_of(v, "v");
  const AttentionOptions options = Arguments{score, modify, mask, normalize, reweigh}.options();
  AttentionForward r;
  {
    const nb::gil_scoped_release unlocked;
    r = attention_forward(x, y, z, options);
  }
  return nb::borrow<nb::any>(
      nb::make_tuple(array_of(r.out, numpy), array_of(r.maximum, numpy), array_of(r.inverse_sum, numpy)));
}

// The gradients of q, k, v and of the parameters of all parts. `saved` is what forward() returned, or None.
nb::any backward(nb::handle saved, nb::handle q, nb::handle k, nb::handle v, nb::handle dout, nb::handle score,
                 nb::handle modify, nb::handle mask, nb::handle normalize, nb::handle reweigh, bool numpy) {
  const Inputs in(tensor_of(q, "q"), tensor_of(k, "k"), tensor_of(v, "v"));
  const Tensor upstream = in.with_heads(tensor_of(dout, "the gradient of the output"));
  const Arguments arguments{score, modify, mask, normalize, reweigh};
  const AttentionOptions options = arguments.options();
  AttentionForward forward;
  if (!saved.is_none()) {
    const auto parts = nb::borrow<nb::tuple>(saved);
    forward = {tensor_of(parts[0], "out"), tensor_of(parts[1], "maximum"), tensor_of(parts[2], "inverse_sum")};
  }
  std::vector<Variable> parameters = arguments.parameters();
  AttentionGradients g;
  {
    const nb::gil_scoped_release unlocked;
    if (!forward.out.defined()) forward = attention_forward(in.q, in.k, in.v, options);
    g = attention_backward(forward, in.q, in.k, in.v, upstream, options);
  }
  nb::list all;
  for (const Tensor* t : {&g.dq, &g.dk, &g.dv}) all.append(array_of(in.result(*t), numpy));
  for (const Variable& p : parameters)
    all.append(array_of(p.grad().defined() ? p.grad() : Tensor::zeros(p.shape()), numpy));
  return nb::borrow<nb::any>(all);
}

std::string explain_call(nb::handle q, nb::handle k, nb::handle v, nb::handle score, nb::handle modify,
                         nb::handle mask, nb::handle normalize, nb::handle reweigh) {
  const Inputs in(tensor_of(q, "q"), tensor_of(k, "k"), tensor_of(v, "v"));
  const AttentionOptions options = Arguments{score, modify, mask, normalize, reweigh}.options();
  const nb::gil_scoped_release unlocked;
  return explain(in.q, in.k, in.v, options);
}

}  // namespace

AttentionOptions Arguments::options() const {
  AttentionOptions o;
  if (!score.is_none()) o.score = nb::cast<const ScorePart&>(score).part;
  for (nb::handle part : nb::borrow<nb::tuple>(modify)) o.modify.push_back(nb::cast<const ModifyPart&>(part).part);
  if (!mask.is_none()) o.mask = nb::cast<const MaskPart&>(mask).part;
  if (!normalize.is_none()) o.normalize = nb::cast<const NormalizePart&>(normalize).part;
  for (nb::handle part : nb::borrow<nb::tuple>(reweigh))
    o.reweigh.push_back(nb::cast<const ReweighPart&>(part).part);
  return o;
}

std::vector<Variable> Arguments::parameters() const {
  std::vector<Variable> all;
  const auto append = [&](const std::vector<Variable>& more) { all.insert(all.end(), more.begin(), more.end()); };
  if (!score.is_none()) append(nb::cast<const ScorePart&>(score).parameters);
  for (nb::handle part : nb::borrow<nb::tuple>(modify)) append(nb::cast<const ModifyPart&>(part).parameters);
  if (!normalize.is_none()) append(nb::cast<const NormalizePart&>(normalize).parameters);
  for (nb::handle part : nb::borrow<nb::tuple>(reweigh)) append(nb::cast<const ReweighPart&>(part).parameters);
  return all;
}

void bind_attention(nb::module_& m) {
  // Arrays, then score, modify, mask, normalize, reweigh, of which all but the tuples may be None, then switches.
  const nb::arg one = nb::arg();
  const auto maybe = nb::arg().none();
  m.def("attention", &attend, one, one, one, maybe, one, maybe, maybe, one, one, one);
  m.def("attention_packed", &packed, one, one, one, one, one, maybe, one, maybe, maybe, one, one);
  m.def("forward", &forward, one, one, one, maybe, one, maybe, maybe, one, one);
  m.def("backward", &backward, maybe, one, one, one, one, maybe, one, maybe, maybe, one, one);
  m.def("explain", &explain_call, one, one, one, maybe, one, maybe, maybe, one);
}

}  // namespace qkv::python
