#include "qkv/attention/attention.h"

#include <nanobind/stl/string.h>

#include "python/src/bind.h"
#include "python/src/parts.h"
#include "qkv/attention/explain.h"
#include "qkv/attention/forward_backward.h"

namespace qkv::python {
namespace {

// The arguments of a call, None for what is left to its default.
struct Arguments {
  nb::handle score, modify, mask, normalize, reweigh;

  AttentionOptions options() const {
    AttentionOptions o;
    if (!score.is_none()) o.score = nb::cast<const ScorePart&>(score).part;
    for (nb::handle part : nb::borrow<nb::tuple>(modify))
      o.modify.push_back(nb::cast<const ModifyPart&>(part).part);
    if (!mask.is_none()) o.mask = nb::cast<const MaskPart&>(mask).part;
    if (!normalize.is_none()) o.normalize = nb::cast<const NormalizePart&>(normalize).part;
    for (nb::handle part : nb::borrow<nb::tuple>(reweigh))
      o.reweigh.push_back(nb::cast<const ReweighPart&>(part).part);
    return o;
  }

  // The numbers of all parts, in the order of the arguments.
  std::vector<Variable> numbers() const {
    std::vector<Variable> all;
    const auto append = [&](const std::vector<Variable>& more) { all.insert(all.end(), more.begin(), more.end()); };
    if (!score.is_none()) append(nb::cast<const ScorePart&>(score).numbers);
    for (nb::handle part : nb::borrow<nb::tuple>(modify)) append(nb::cast<const ModifyPart&>(part).numbers);
    if (!normalize.is_none()) append(nb::cast<const NormalizePart&>(normalize).numbers);
    for (nb::handle part : nb::borrow<nb::tuple>(reweigh)) append(nb::cast<const ReweighPart&>(part).numbers);
    return all;
  }
};

nb::object attend(nb::handle q, nb::handle k, nb::handle v, nb::handle score, nb::handle modify, nb::handle mask,
                  nb::handle normalize, nb::handle reweigh, bool with_weights, bool numpy) {
  const Tensor x = tensor_of(q, "q"), y = tensor_of(k, "k"), z = tensor_of(v, "v");
  const AttentionOptions options = Arguments{score, modify, mask, normalize, reweigh}.options();
  AttentionResult result;
  {
    const nb::gil_scoped_release unlocked;
    if (with_weights)
      result = attention_with_weights(x, y, z, options);
    else
      result.out = attention(x, y, z, options);
  }
  if (!with_weights) return array_of(result.out, numpy);
  return nb::make_tuple(array_of(result.out, numpy), array_of(result.weights, numpy), array_of(result.lse, numpy));
}

nb::object record_attention(nb::handle q, nb::handle k, nb::handle v, nb::handle score, nb::handle modify,
                            nb::handle mask, nb::handle normalize, nb::handle reweigh, bool numpy) {
  const Tensor x = tensor_of(q, "q"), y = tensor_of(k, "k"), z = tensor_of(v, "v");
  const AttentionOptions options = Arguments{score, modify, mask, normalize, reweigh}.options();
  AttentionForward r;
  {
    const nb::gil_scoped_release unlocked;
    r = attention_forward(x, y, z, options);
  }
  return nb::make_tuple(array_of(r.out, numpy), array_of(r.maximum, numpy), array_of(r.inverse_sum, numpy));
}

// The gradients of q, k, v and of the numbers of all parts.
nb::object backward(nb::handle recorded, nb::handle q, nb::handle k, nb::handle v, nb::handle dout,
                    nb::handle score, nb::handle modify, nb::handle mask, nb::handle normalize, nb::handle reweigh,
                    bool numpy) {
  const Tensor x = tensor_of(q, "q"), y = tensor_of(k, "k"), z = tensor_of(v, "v"),
               upstream = tensor_of(dout, "the gradient of the output");
  const Arguments arguments{score, modify, mask, normalize, reweigh};
  const AttentionOptions options = arguments.options();
  AttentionForward forward;
  if (!recorded.is_none()) {
    const auto parts = nb::borrow<nb::tuple>(recorded);
    forward = {tensor_of(parts[0], "out"), tensor_of(parts[1], "maximum"), tensor_of(parts[2], "inverse_sum")};
  }
  std::vector<Variable> numbers = arguments.numbers();
  AttentionGradients g;
  {
    const nb::gil_scoped_release unlocked;
    if (!forward.out.defined()) forward = attention_forward(x, y, z, options);
    g = attention_backward(forward, x, y, z, upstream, options);
  }
  nb::list all;
  for (const Tensor* t : {&g.dq, &g.dk, &g.dv}) all.append(array_of(*t, numpy));
  for (const Variable& n : numbers)
    all.append(array_of(n.grad().defined() ? n.grad() : Tensor::zeros(n.shape()), numpy));
  return all;
}

std::string explain_call(nb::handle q, nb::handle k, nb::handle v, nb::handle score, nb::handle modify,
                         nb::handle mask, nb::handle normalize, nb::handle reweigh) {
  return explain(tensor_of(q, "q"), tensor_of(k, "k"), tensor_of(v, "v"),
                 Arguments{score, modify, mask, normalize, reweigh}.options());
}

}  // namespace

void bind_attention(nb::module_& m) {
  // Arrays, then score, modify, mask, normalize, reweigh, of which all but the tuples may be None, then switches.
  const nb::arg one = nb::arg();
  const auto maybe = nb::arg().none();
  m.def("attention", &attend, one, one, one, maybe, one, maybe, maybe, one, one, one);
  m.def("record", &record_attention, one, one, one, maybe, one, maybe, maybe, one, one);
  m.def("backward", &backward, maybe, one, one, one, one, maybe, one, maybe, maybe, one, one);
  m.def("explain", &explain_call, one, one, one, maybe, one, maybe, maybe, one);
}

}  // namespace qkv::python
