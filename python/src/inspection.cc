#include "python/src/inspection.h"

#include <nanobind/stl/vector.h>

#include "python/src/array.h"
#include "python/src/text.h"

namespace qkv::python {

nb::tuple inspection_tuple(const Inspection& inspection) {
  nb::list groups;
  for (const AttentionMaps& maps : inspection.attention) {
    nb::list layers;
    for (const Tensor& layer : maps.layers) layers.append(array_of(layer, true));
    groups.append(nb::make_tuple(text_of(maps.title), layers, texts_of(maps.rows), texts_of(maps.columns),
                                 text_of(maps.caption)));
  }
  return nb::make_tuple(text_of(inspection.text), inspection.log_probability,
                        nb::cast(inspection.token_log_probabilities), texts_of(inspection.tokens),
                        inspection.truncated, groups);
}

}  // namespace qkv::python
