#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/bind.h"
#include "python/src/parts.h"
#include "python/src/rank.h"
#include "qkv/attention/modify/absolute_bias.h"
#include "qkv/attention/modify/alibi.h"
#include "qkv/attention/modify/bias.h"
#include "qkv/attention/modify/falcon_alibi.h"
#include "qkv/attention/modify/first_block_bias.h"
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
  m.def("alibi", [](nb::handle slopes, bool requires_grad) {
    const Variable s = variable_of(slopes, "alibi: slopes", requires_grad);
    return ModifyPart{alibi(s), {s}};
  });
  m.def("bias", [](nb::handle numbers, bool no_heads, bool requires_grad) {
    const Variable b(four_axes(tensor_of(numbers, "bias"), no_heads), {.requires_grad = requires_grad});
    return ModifyPart{bias(b), {b}};
  });
  m.def("absolute_bias", [](nb::handle table, bool requires_grad) {
    const Variable t = variable_of(table, "absolute_bias: table", requires_grad);
    return ModifyPart{absolute_bias(t), {t}};
  });
  m.def("falcon_alibi",
        [](std::vector<float> slopes, float scale) { return ModifyPart{falcon_alibi(std::move(slopes), scale)}; });
  m.def("first_block_bias",
        [](int64_t block, int64_t copies) { return ModifyPart{first_block_bias(block, copies)}; });
  m.def("relative_bias",
        [](nb::handle table, bool bidirectional, int64_t num_buckets, int64_t max_distance, bool requires_grad) {
          const Variable t = variable_of(table, "relative_bias: table", requires_grad);
          return ModifyPart{relative_bias(t, {bidirectional, num_buckets, max_distance}), {t}};
        });

  bind_part<NormalizePart>(m, "Normalize");
  m.def("softmax_with_sink", [](nb::handle sink, bool requires_grad) {
    const Variable s = variable_of(sink, "softmax_with_sink", requires_grad);
    return NormalizePart{softmax_with_sink(s), {s}};
  });
  m.def("boxcar", [] { return NormalizePart{boxcar()}; });
  m.def("epanechnikov", [] { return NormalizePart{epanechnikov()}; });
  m.def("triangular", [] { return NormalizePart{triangular()}; });
  m.def("constant", [] { return NormalizePart{constant()}; });

  bind_part<ReweighPart>(m, "Reweigh");
  m.def("weight_dropout", [](double rate, uint64_t seed, uint64_t stream) {
    return ReweighPart{weight_dropout({.rate = rate, .seed = seed, .stream = stream})};
  });
  m.def("gaussian_window", [](nb::handle p, double sigma, bool requires_grad) {
    const Variable centre = variable_of(p, "gaussian_window: p", requires_grad);
    return ReweighPart{gaussian_window(centre, sigma), {centre}};
  });
}

}  // namespace qkv::python
