#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/array.h"
#include "python/src/bind.h"
#include "python/src/text.h"
#include "qkv/picture/heatmap.h"
#include "qkv/picture/training_curves.h"

namespace qkv::python {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

HeatmapOptions options_of(nb::handle rows, nb::handle columns, nb::handle title, nb::handle caption) {
  return {.rows = strings_of(rows, "heatmap: rows"),
          .columns = strings_of(columns, "heatmap: columns"),
          .title = string_of(title, "heatmap: title"),
          .caption = string_of(caption, "heatmap: caption")};
}

// A picture of one array: `lines` between queries and keys, or cells.
Picture of_array(nb::handle weights, nb::handle rows, nb::handle columns, nb::handle title, nb::handle caption,
                 bool lines) {
  const HeatmapOptions options = options_of(rows, columns, title, caption);
  const Tensor numbers = tensor_of(weights, "heatmap: weights");
  return lines ? head_view(numbers, options) : heatmap(numbers, options);
}

// A picture of pairs (title, matrix), which share rows, columns and colours.
Picture of_panels(nb::list panels, nb::handle rows, nb::handle columns, nb::handle title, nb::handle caption,
                  int64_t per_line) {
  HeatmapOptions options = options_of(rows, columns, title, caption);
  std::vector<Panel> all;
  for (const nb::handle panel : panels) {
    const auto pair = nb::borrow<nb::tuple>(panel);
    all.push_back({.title = string_of(pair[0], "heatmap: the title of a matrix"),
                   .weights = tensor_of(pair[1], "heatmap: weights"),
                   .rows = options.rows,
                   .columns = options.columns});
  }
  return heatmaps(std::move(all), {.title = options.title, .caption = options.caption, .per_line = per_line});
}

// A picture of tuples (title, [a layer (H, T, S), ...], rows, columns, caption).
Picture of_model(nb::list groups, nb::handle title, nb::dict metadata) {
  std::vector<AttentionGroup> all;
  for (const nb::handle group : groups) {
    const auto parts = nb::borrow<nb::tuple>(group);
    AttentionGroup out{.title = string_of(parts[0], "title"), .layers = {}};
    for (const nb::handle layer : parts[1]) out.layers.push_back(tensor_of(layer, "attention"));
    out.rows = strings_of(parts[2], "rows");
    out.columns = strings_of(parts[3], "columns");
    out.caption = string_of(parts[4], "caption");
    all.push_back(std::move(out));
  }
  Pairs facts;
  for (const auto& [key, value] : metadata)
    facts.emplace_back(string_of(key, "metadata"), string_of(value, "metadata"));
  return attention_picture(all, {.title = string_of(title, "title"), .metadata = std::move(facts)});
}

int64_t panels(const Picture& picture) {
  size_t count = 0;
  for (const PanelGroup& group : picture.content().groups) count += group.panels.size();
  return static_cast<int64_t>(count);
}

int64_t cells(const Picture& picture) {
  int64_t count = 0;
  for (const PanelGroup& group : picture.content().groups)
    for (const Panel& panel : group.panels) count += panel.weights.numel();
  return count;
}

}  // namespace

void bind_picture(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Picture>(m, "Picture")
      .def(
          "svg", [](const Picture& p) { return text_of(p.svg()); }, nb::sig("def svg(self) -> str"))
      .def(
          "html", [](const Picture& p) { return text_of(p.html()); }, nb::sig("def html(self) -> str"))
      .def(
          "json", [](const Picture& p) { return text_of(p.json()); }, nb::sig("def json(self) -> str"))
      .def("save", &Picture::save, "path"_a)
      .def_prop_ro("panels", &panels)
      .def_prop_ro("cells", &cells);
  nb::class_<Curves>(m, "Curves")
      .def(
          "svg", [](const Curves& c) { return text_of(c.svg()); }, nb::sig("def svg(self) -> str"))
      .def(
          "html", [](const Curves& c) { return text_of(c.html()); }, nb::sig("def html(self) -> str"))
      .def("save", &Curves::save, "path"_a);
  m.def("training_curves", &training_curves);
  m.def("heatmap", &of_array);
  m.def("heatmaps", &of_panels);
  m.def("attention_picture", &of_model);
}

}  // namespace qkv::python
