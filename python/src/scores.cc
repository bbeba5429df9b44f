#include <nanobind/stl/string.h>

#include "python/src/bind.h"
#include "python/src/parts.h"
#include "qkv/attention/score/additive.h"
#include "qkv/attention/score/bilinear.h"
#include "qkv/attention/score/cosine.h"
#include "qkv/attention/score/distance.h"
#include "qkv/attention/score/dot.h"
#include "qkv/attention/score/location.h"

namespace qkv::python {

void bind_scores(nb::module_& m) {
  bind_part<ScorePart>(m, "Score");
  m.def("dot", [](float scale) { return ScorePart{dot(scale)}; });
  m.def("scaled_dot", [] { return ScorePart{scaled_dot()}; });
  m.def("cosine", [](float scale) { return ScorePart{cosine(scale)}; });
  m.def("cosine_with_gain", [](float scale, nb::handle gain, bool requires_grad) {
    const Variable g = variable_of(gain, "cosine: gain", requires_grad);
    return ScorePart{cosine(scale, g), {g}};
  });
  m.def("distance", [] { return ScorePart{distance()}; });
  m.def("gaussian_of_width", [](float sigma) { return ScorePart{gaussian(sigma)}; });
  m.def("gaussian", [](nb::handle sigma, bool requires_grad) {
    const Variable s = variable_of(sigma, "gaussian: sigma", requires_grad);
    return ScorePart{gaussian(s), {s}};
  });
  m.def("bilinear", [](nb::handle matrix, bool requires_grad) {
    const Variable w = variable_of(matrix, "bilinear: m", requires_grad);
    return ScorePart{bilinear(w), {w}};
  });
  m.def("additive", [](nb::handle w_q, nb::handle w_k, nb::handle w_v, bool requires_grad) {
    const Variable q = variable_of(w_q, "additive: w_q", requires_grad),
                   k = variable_of(w_k, "additive: w_k", requires_grad),
                   v = variable_of(w_v, "additive: w_v", requires_grad);
    return ScorePart{additive(q, k, v), {q, k, v}};
  });
  m.def("concat", [](nb::handle matrix, nb::handle w_v, bool requires_grad) {
    const Variable w = variable_of(matrix, "concat: w", requires_grad),
                   v = variable_of(w_v, "concat: w_v", requires_grad);
    return ScorePart{concat(w, v), {w, v}};
  });
  m.def("location", [](nb::handle matrix, bool requires_grad) {
    const Variable w = variable_of(matrix, "location: w", requires_grad);
    return ScorePart{location(w), {w}};
  });
}

}  // namespace qkv::python
