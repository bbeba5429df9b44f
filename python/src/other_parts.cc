#include <nanobind/stl/string.h>

#include "python/src/bind.h"
#include "python/src/parts.h"
#include "qkv/attention/modify/alibi.h"
#include "qkv/attention/modify/bias.h"
#include "qkv/attention/modify/relative_bias.h"
#include "qkv/attention/modify/softcap.h"
#include "qkv/attention/normalize/kernel_weights.h"
#include "qkv/attention/normalize/softmax.h"
#include "qkv/attention/reweigh/dropout.h"
#include "qkv/attention/reweigh/gaussian_window.h"

namespace qkv::python {

void bind_other_parts(nb::module_& m) {
  bind_part<ModifyPart>(m, "Modify");
  m.def("softcap", [](float cap) { return ModifyPart{softcap(cap)}; });
  m.def("alibi", [](nb::handle slopes, bool learnt) {
    const Variable s = numbers_of(slopes, "alibi: slopes", learnt);
    return ModifyPart{alibi(s), {s}};
  });
  m.def("bias", [](nb::handle numbers, bool learnt) {
    const Variable b = numbers_of(numbers, "bias", learnt);
    return ModifyPart{bias(b), {b}};
  });
  m.def("relative",
        [](nb::handle table, bool bidirectional, int64_t num_buckets, int64_t max_distance, bool learnt) {
          const Variable t = numbers_of(table, "relative: table", learnt);
          return ModifyPart{relative_bias(t, {bidirectional, num_buckets, max_distance}), {t}};
        });

  bind_part<NormalizePart>(m, "Normalize");
  m.def("sink", [](nb::handle sink, bool learnt) {
    const Variable s = numbers_of(sink, "sink", learnt);
    return NormalizePart{softmax_with_sink(s), {s}};
  });
  m.def("boxcar", [] { return NormalizePart{boxcar()}; });
  m.def("epanechnikov", [] { return NormalizePart{epanechnikov()}; });
  m.def("triangular", [] { return NormalizePart{triangular()}; });
  m.def("constant", [] { return NormalizePart{constant()}; });

  bind_part<ReweighPart>(m, "Reweigh");
  m.def("dropout", [](double rate, uint64_t seed) {
    return ReweighPart{weight_dropout({.rate = rate, .seed = seed, .stream = 0})};
  });
  m.def("gaussian_window", [](nb::handle p, double sigma, bool learnt) {
    const Variable centre = numbers_of(p, "gaussian_window: p", learnt);
    return ReweighPart{gaussian_window(centre, sigma), {centre}};
  });
}

}  // namespace qkv::python
