// What attention and models cost.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/bind.h"
#include "python/src/text.h"
#include "qkv/base/json.h"
#include "qkv/measure/attention_comparison.h"
#include "qkv/picture/cost_curves.h"
#include "qkv/published/model_folder.h"

namespace qkv::python {
namespace {

using namespace nb::literals;

AttentionWorkload workload(nb::dict sizes, const char* where) {
  AttentionSizes n;
  const auto get = [&](const char* name, auto& value) {
    value = nb::cast<std::remove_reference_t<decltype(value)>>(sizes[name]);
  };
  get("batch", n.batch), get("heads", n.heads), get("kv_heads", n.kv_heads), get("head_width", n.head_width);
  get("queries", n.queries), get("keys", n.keys), get("causal", n.causal), get("cross", n.cross);
  return attention_workload(n, where);
}

// One attention: its cost, its text and the plot of its growth.
struct Costed {
  AttentionWorkload work;
  AttentionCost cost;
};

}  // namespace

void bind_cost(nb::module_& m) {
  nb::class_<Costed>(m, "AttentionCost")
      .def("__init__",
           [](Costed* self, const std::string& mechanism, const nb::dict& sizes) {
             const AttentionWorkload work =
                 with_mechanism(workload(sizes, "attention_cost"), mechanism, "attention_cost");
             const nb::gil_scoped_release unlocked;
             new (self) Costed{work, attention_cost(work)};
           })
      .def_prop_ro("pairs", [](const Costed& c) { return c.cost.pairs; })
      .def_prop_ro("visible_pairs", [](const Costed& c) { return c.cost.visible_pairs; })
      .def_prop_ro("flops", [](const Costed& c) { return c.cost.flops; })
      .def_prop_ro("bytes", [](const Costed& c) { return c.cost.bytes(); })
      .def_prop_ro("intensity", [](const Costed& c) { return c.cost.intensity(); })
      .def_prop_ro("added_memory", [](const Costed& c) { return c.cost.added_memory; })
      .def_prop_ro("cache_bytes", [](const Costed& c) { return c.cost.cache_bytes; })
      .def("text",
           [](const Costed& c) {
             const nb::gil_scoped_release unlocked;
             return explain(c.work) + "\n" + growth_table(c.work, attention_growth(c.work));
           })
      .def("growth", [](const Costed& c) {
        const nb::gil_scoped_release unlocked;
        return growth_curves(attention_growth(c.work));
      });
  nb::class_<AttentionComparison>(m, "AttentionComparison")
      .def("table", [](const AttentionComparison& c) { return comparison_table(c); })
      .def("json", [](const AttentionComparison& c) { return comparison_json(c).dump(); })
      .def("curves", [](const AttentionComparison& c) { return comparison_curves(c); });
  m.def("compare_attention", [](const std::vector<std::string>& mechanisms, const std::string& sweep, bool measure,
                                const nb::dict& sizes) {
    const AttentionWorkload work = workload(sizes, "compare_attention");
    const nb::gil_scoped_release unlocked;
    return compare_attention({.work = work, .mechanisms = mechanisms, .sweep = sweep, .measure = measure});
  });
  m.def("explain_model",
        [](const std::string& folder, int64_t source_length, int64_t target_length, int64_t batch) {
          const nb::gil_scoped_release unlocked;
          const auto opened = open_model_folder(folder);
          return explain(opened->config(), {.source_length = source_length,
                                            .target_length = target_length,
                                            .batch = batch,
                                            .weights = opened->stored_weights()});
        });
}

}  // namespace qkv::python
