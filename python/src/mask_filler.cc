#include "qkv/pipeline/mask_filler.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/bind.h"
#include "python/src/inspection.h"
#include "python/src/settings.h"
#include "python/src/text.h"
#include "qkv/decode/option_table.h"
#include "qkv/model/describe.h"
#include "qkv/model/model_file.h"

namespace qkv::python {
namespace {

// ([[(id, token, probability), ...] of a mask, ...], [(text, probability), ...], whether the text was cut)
nb::tuple tuple_of(const FilledText& filled) {
  nb::list masks, texts;
  for (const std::vector<MaskCandidate>& mask : filled.masks) {
    nb::list candidates;
    for (const MaskCandidate& c : mask) candidates.append(nb::make_tuple(c.id, text_of(c.token), c.probability));
    masks.append(candidates);
  }
  for (const FilledText::Answer& answer : filled.texts)
    texts.append(nb::make_tuple(text_of(answer.text), answer.probability));
  return nb::make_tuple(masks, texts, filled.truncated);
}

nb::list fill(const MaskFiller& filler, nb::list texts, const nb::dict& given) {
  FillMaskOptions options;
  ReadSettings("MaskFiller.fill", given).into(options);
  const std::vector<std::string> lines = strings_of(texts, "fill");
  std::vector<FilledText> filled;
  {
    const nb::gil_scoped_release unlocked;
    filled = filler.fill(lines, options, [](int64_t) { check_signals(); });
  }
  nb::list out;
  for (const FilledText& text : filled) out.append(tuple_of(text));
  return out;
}

nb::tuple inspect_masked(const MaskFiller& filler, nb::handle text, nb::handle marker, nb::list ablate) {
  const std::string line = string_of(text, "inspect"), mark = string_of(marker, "inspect: marker");
  const HeadAblation without(heads_of(ablate, filler.model().config(), "inspect: ablate"));
  Inspection seen;
  {
    const nb::gil_scoped_release unlocked;
    seen = inspect(filler, line, mark);
  }
  return inspection_tuple(seen);
}

nb::tuple ablate_masked(const MaskFiller& filler, nb::list heads, nb::list texts) {
  const std::vector<NamedHeads> groups = groups_of(heads, filler.model().config(), "ablate: heads");
  const std::vector<std::string> lines = strings_of(texts, "ablate: texts");
  Ablation found;
  {
    const nb::gil_scoped_release unlocked;
    found = ablate(filler, lines, groups, {}, [](int64_t) { check_signals(); });
  }
  return ablation_tuple(found);
}

}  // namespace

void bind_mask_filler(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<MaskFiller>(m, "MaskFiller")
      .def(
          "__init__",
          [](MaskFiller* f, const std::filesystem::path& folder, const std::optional<std::string>& weights,
             bool map, const std::string& precision) {
            const InferenceOptions options = inference_options(weights, map, precision, "MaskFiller");
            const nb::gil_scoped_release unlocked;
            new (f) MaskFiller(folder, options);
          },
          "folder"_a, "weights"_a.none(), "map"_a, "precision"_a)
      .def("fill", &fill)
      .def("inspect", &inspect_masked, "text"_a, "marker"_a, "ablate"_a)
      .def("ablate", &ablate_masked)
      .def("config", [](const MaskFiller& f) { return to_json(f.model().config()); })
      .def("describe",
           [](const MaskFiller& f) { return describe(f.model().config(), {.weights = held_weights(f.model())}); });
}

}  // namespace qkv::python
