#include "qkv/pipeline/embedder.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/array.h"
#include "python/src/bind.h"
#include "python/src/settings.h"
#include "python/src/text.h"
#include "qkv/decode/option_table.h"
#include "qkv/model/describe.h"
#include "qkv/model/model_file.h"

namespace qkv::python {
namespace {

// (an array (N, C), the indices of the sentences that were cut)
nb::tuple embed(const Embedder& embedder, nb::list sentences, const nb::dict& given) {
  EmbedOptions options;
  ReadSettings("Embedder.embed", given).into(options);
  const std::vector<std::string> lines = strings_of(sentences, "embed");
  Embeddings found;
  {
    const nb::gil_scoped_release unlocked;
    found = embedder.embed(lines, options, [](int64_t) { check_signals(); });
  }
  return nb::make_tuple(array_of(found.vectors, true), nb::cast(found.truncated));
}

}  // namespace

void bind_embedder(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Embedder>(m, "Embedder")
      .def(
          "__init__",
          [](Embedder* e, const std::filesystem::path& folder, const std::optional<std::string>& weights, bool map,
             const std::string& precision) {
            const InferenceOptions options = inference_options(weights, map, precision, "Embedder");
            const nb::gil_scoped_release unlocked;
            new (e) Embedder(folder, options);
          },
          "folder"_a, "weights"_a.none(), "map"_a, "precision"_a)
      .def("embed", &embed)
      .def("width", [](const Embedder& e) { return e.vector_width(); })
      .def("config", [](const Embedder& e) { return to_json(e.model().config()); })
      .def("describe",
           [](const Embedder& e) { return describe(e.model().config(), {.weights = held_weights(e.model())}); });
}

}  // namespace qkv::python
