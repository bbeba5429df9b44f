// The parts of the attention formula as Python objects.
#pragma once

#include <vector>

#include "python/src/array.h"
#include "qkv/attention/options.h"

namespace qkv::python {

// A part and the arrays that it was made from, in their order: after a backward they hold their gradients.
template <class Pointer>
struct Part {
  Pointer part;
  std::vector<Variable> parameters = {};
};

using MaskPart = Part<MaskPtr>;
using ScorePart = Part<ScorePtr>;
using ModifyPart = Part<ModifierPtr>;
using NormalizePart = Part<NormalizerPtr>;
using ReweighPart = Part<ReweigherPtr>;

inline Variable variable_of(nb::handle array, const char* name, bool requires_grad) {
  return {tensor_of(array, name), {.requires_grad = requires_grad}};
}

template <class P>
nb::class_<P> bind_part(nb::module_& m, const char* name) {
  return nb::class_<P>(m, name).def("__repr__", [](const P& p) { return p.part->name(); });
}

// The five parts of a call, each None (for modify and reweigh: an empty tuple) where the default is used.
struct Arguments {
  nb::handle score, modify, mask, normalize, reweigh;

  AttentionOptions options() const;
  std::vector<Variable> parameters() const;  // of all parts, in the order of the arguments
};

}  // namespace qkv::python
