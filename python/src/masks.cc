#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/bind.h"
#include "python/src/parts.h"
#include "python/src/rank.h"
#include "qkv/attention/local.h"
#include "qkv/attention/mask/around.h"
#include "qkv/attention/mask/bigbird.h"
#include "qkv/attention/mask/blocks.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/dense.h"
#include "qkv/attention/mask/dilated.h"
#include "qkv/attention/mask/documents.h"
#include "qkv/attention/mask/every.h"
#include "qkv/attention/mask/first_keys.h"
#include "qkv/attention/mask/global_positions.h"
#include "qkv/attention/mask/global_tokens.h"
#include "qkv/attention/mask/longformer.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/mask/strided.h"
#include "qkv/attention/mask/window.h"

namespace qkv::python {

using namespace nb::literals;

void bind_masks(nb::module_& m) {
  bind_part<MaskPart>(m, "Mask")
      .def("__and__", [](const MaskPart& a, const MaskPart& b) { return MaskPart{a.part & b.part}; })
      .def("__or__", [](const MaskPart& a, const MaskPart& b) { return MaskPart{a.part | b.part}; })
      .def("__invert__", [](const MaskPart& a) { return MaskPart{!a.part}; });
  m.def(
      "causal", [](std::optional<int64_t> offset) { return MaskPart{causal(offset)}; }, "offset"_a.none());
  m.def(
      "window",
      [](int64_t left, int64_t right, std::optional<int64_t> offset) {
        return MaskPart{window(left, right, offset)};
      },
      "left"_a, "right"_a, "offset"_a.none());
  m.def("padding", [](nb::handle lengths) { return MaskPart{padding(integers_of(lengths, "padding: lengths"))}; });
  m.def("documents", [](nb::handle of_queries, nb::handle of_keys) {
    return MaskPart{documents(integers_of(of_queries, "documents: of the queries"),
                              integers_of(of_keys, "documents: of the keys"))};
  });
  m.def("dense", [](nb::handle table, bool no_heads) {
    return MaskPart{dense(four_axes(integers_of(table, "dense: table"), no_heads))};
  });
  m.def("blocks", [](nb::handle table, int64_t block, bool no_heads) {
    return MaskPart{blocks(four_axes(integers_of(table, "blocks: table"), no_heads), block)};
  });
  m.def("dilated", [](int64_t radius, int64_t dilation) { return MaskPart{dilated(radius, dilation)}; });
  m.def("every", [](int64_t step) { return MaskPart{every(step)}; });
  m.def("first_keys", [](int64_t count) { return MaskPart{first_keys(count)}; });
  m.def("around", [](nb::handle centers, double radius) {
    return MaskPart{around(tensor_of(centers, "around: centers"), radius)};
  });
  m.def("strided", [](int64_t stride) { return MaskPart{strided(stride)}; });
  m.def("global_positions",
        [](std::vector<int64_t> positions) { return MaskPart{global_positions(std::move(positions))}; });
  m.def("global_tokens",
        [](nb::handle tokens) { return MaskPart{global_tokens(integers_of(tokens, "global_tokens: tokens"))}; });
  m.def("longformer", [](int64_t radius, std::vector<int64_t> positions) {
    return MaskPart{longformer(radius, std::move(positions))};
  });
  m.def("bigbird", [](int64_t block, int64_t window_blocks, std::vector<int64_t> global_blocks,
                      int64_t random_blocks, int64_t heads, uint64_t seed) {
    return MaskPart{bigbird({block, window_blocks, std::move(global_blocks), random_blocks, heads, seed})};
  });
  m.def("bigbird_table",
        [](int64_t length, int64_t block, int64_t window_blocks, std::vector<int64_t> global_blocks,
           int64_t random_blocks, int64_t heads, uint64_t seed) {
          const Tensor table =
              bigbird_table(length, {block, window_blocks, std::move(global_blocks), random_blocks, heads, seed});
          return array_of(table, true);
        });
  m.def("local_m", [](int64_t radius) { return MaskPart{local_m(radius)}; });
}

}  // namespace qkv::python
