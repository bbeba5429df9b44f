#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/bind.h"
#include "python/src/parts.h"
#include "qkv/attention/multi_token_cache.h"

namespace qkv::python {

void bind_caches(nb::module_& m) {
  const nb::arg one = nb::arg();
  const auto maybe = nb::arg().none();
  nb::class_<KeyValueCache>(m, "KeyValueCache")
      .def(nb::init<>())
      .def("append", [](KeyValueCache& cache, nb::handle k,
                        nb::handle v) { cache.append(tensor_of(k, "k"), tensor_of(v, "v")); })
      .def("reorder", [](KeyValueCache& cache, const std::vector<int64_t>& source) { cache.reorder(source); })
      .def_prop_ro("length", &KeyValueCache::length)
      .def("keys", [](const KeyValueCache& cache, bool numpy) { return array_of(cache.keys(), numpy); })
      .def("values", [](const KeyValueCache& cache, bool numpy) { return array_of(cache.values(), numpy); });
  nb::class_<MultiTokenCache>(m, "MultiTokenCache")
      .def(
          "__init__",
          [](MultiTokenCache* cache, nb::tuple arrays, const std::string& pad_key, nb::handle mask,
             std::optional<float> scale) {
            std::vector<Variable> in;
            for (const nb::handle array : arrays)
              in.push_back(array.is_none() ? Variable() : variable_of(array, "MultiTokenCache", false));
            new (cache) MultiTokenCache(multi_token_options(in, pad_key, mask, scale));
          },
          one, one, maybe, maybe)
      .def("attend",
           [](MultiTokenCache& cache, nb::handle q, nb::handle k, nb::handle v, bool numpy) {
             const Tensor x = tensor_of(q, "q"), y = tensor_of(k, "k"), z = tensor_of(v, "v");
             Tensor out;
             {
               const nb::gil_scoped_release unlocked;
               out = cache.attend(x, y, z);
             }
             return array_of(out, numpy);
           })
      .def("reorder", [](MultiTokenCache& cache, const std::vector<int64_t>& source) { cache.reorder(source); })
      .def_prop_ro("length", &MultiTokenCache::length);
}

}  // namespace qkv::python
