// The parts of the sentence as objects of Python.
#pragma once

#include <vector>

#include "python/src/array.h"
#include "qkv/attention/options.h"

namespace qkv::python {

// A part, and the arrays of numbers that it was made from, in their order: after a backward they hold their
// gradients.
template <class Pointer>
struct Part {
  Pointer part;
  std::vector<Variable> numbers = {};
};

using MaskPart = Part<MaskPtr>;
using ScorePart = Part<ScorePtr>;
using ModifyPart = Part<ModifierPtr>;
using NormalizePart = Part<NormalizerPtr>;
using ReweighPart = Part<ReweigherPtr>;

// An array of numbers that a gradient may flow to.
inline Variable numbers_of(nb::handle array, const char* name, bool learnt) {
  return {tensor_of(array, name), {.requires_grad = learnt}};
}

// The class of a kind of part: what it is called, and how it prints.
template <class P>
nb::class_<P> bind_part(nb::module_& m, const char* name) {
  return nb::class_<P>(m, name).def("__repr__", [](const P& p) { return p.part->name(); });
}

}  // namespace qkv::python
