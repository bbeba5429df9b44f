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
  m.def("cosine", [](float scale) { return ScorePart{cosine(scale)}; });
  m.def("distance", [] { return ScorePart{distance()}; });
  m.def("gaussian_of_width", [](float sigma) { return ScorePart{gaussian(sigma)}; });
  m.def("gaussian", [](nb::handle sigma, bool learnt) {
    const Variable s = numbers_of(sigma, "gaussian: sigma", learnt);
    return ScorePart{gaussian(s), {s}};
  });
  m.def("bilinear", [](nb::handle matrix, bool learnt) {
    const Variable w = numbers_of(matrix, "bilinear: m", learnt);
    return ScorePart{bilinear(w), {w}};
  });
  m.def("additive", [](nb::handle w_q, nb::handle w_k, nb::handle w_v, bool learnt) {
    const Variable q = numbers_of(w_q, "additive: w_q", learnt), k = numbers_of(w_k, "additive: w_k", learnt),
                   v = numbers_of(w_v, "additive: w_v", learnt);
    return ScorePart{additive(q, k, v), {q, k, v}};
  });
  m.def("concat", [](nb::handle matrix, nb::handle w_v, bool learnt) {
    const Variable w = numbers_of(matrix, "concat: w", learnt), v = numbers_of(w_v, "concat: w_v", learnt);
    return ScorePart{concat(w, v), {w, v}};
  });
  m.def("location", [](nb::handle matrix, bool learnt) {
    const Variable w = numbers_of(matrix, "location: w", learnt);
    return ScorePart{location(w), {w}};
  });
}

}  // namespace qkv::python
