#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/bind.h"
#include "python/src/parts.h"
#include "qkv/base/error.h"
#include "qkv/layer/attention_variant_text.h"
#include "qkv/layer/multi_head_attention.h"
#include "qkv/model/describe_layer.h"

namespace qkv::python {
namespace {

AttentionUse use_named(const std::string& name) {
  if (name == "encoder") return AttentionUse::encoder;
  if (name == "decoder") return AttentionUse::decoder;
  require(name == "cross", "MultiHeadAttention", "use must be encoder, decoder or cross, got '{}'", name);
  return AttentionUse::cross;
}

MaskPtr mask_from(nb::handle mask) { return mask.is_none() ? MaskPtr() : nb::cast<const MaskPart&>(mask).part; }

// (out, weights or None)
nb::tuple forward_layer(const MultiHeadAttention& layer, nb::handle query, nb::handle key, nb::handle value,
                        nb::handle mask, bool with_weights, bool numpy) {
  const Variable x = tensor_of(query, "query");
  const bool is_self = key.is_none();
  const Variable y = is_self ? x : Variable(tensor_of(key, "key"));
  const Variable z = is_self ? x : value.is_none() ? y : Variable(tensor_of(value, "value"));
  const MaskPtr visible = mask_from(mask);
  AttentionLog log;
  Pass pass{.log = with_weights ? &log : nullptr};
  Variable out;
  {
    const nb::gil_scoped_release unlocked;
    const NoGrad guard;
    out = is_self ? layer.forward(x, visible, pass) : layer.forward(x, y, z, visible, pass);
  }
  return nb::make_tuple(array_of(out.value(), numpy),
                        log.entries.empty() ? nb::object(nb::none()) : array_of(log.entries[0].weights, numpy));
}

nb::any step(const MultiHeadAttention& layer, nb::handle x, AttentionCache& cache, bool numpy) {
  const Variable input = tensor_of(x, "x");
  Variable out;
  {
    const nb::gil_scoped_release unlocked;
    const NoGrad guard;
    Pass pass;
    out = layer.extend(input, cache, pass);
  }
  return array_of(out.value(), numpy);
}

// widths: of a head and of the sources of queries, keys and values; flags: bias, fused_qkv, query_key_norm.
void make_layer(MultiHeadAttention* layer, int64_t d_model, int64_t heads, int64_t kv_heads,
                const std::array<int64_t, 4>& widths, const std::array<bool, 3>& flags, const std::string& variant,
                const std::string& use, uint64_t seed) {
  MultiHeadAttentionOptions options = {.d_model = d_model,
                                       .heads = heads,
                                       .kv_heads = kv_heads,
                                       .head_width = widths[0],
                                       .query_width = widths[1],
                                       .key_width = widths[2],
                                       .value_width = widths[3],
                                       .bias = flags[0] ? ProjectionBias{} : no_projection_bias,
                                       .fused_qkv = flags[1],
                                       .variant = attention_variant(variant, "MultiHeadAttention: variant"),
                                       .use = use_named(use)};
  if (flags[2]) options.query_key_norm = NormOptions{};
  new (layer) MultiHeadAttention(options);
  layer->initialise("", seed);
}

// {"query.weight": array, ...}: copies.
nb::dict parameters(MultiHeadAttention& layer) {
  nb::dict out;
  layer.visit("",
              [&](const std::string& name, Variable& p) { out[name.c_str()] = array_of(p.value().clone(), true); });
  return out;
}

void set_parameter(MultiHeadAttention& layer, const std::string& wanted, nb::handle array) {
  bool found = false;
  const Tensor value = tensor_of(array, wanted.c_str());
  layer.visit("", [&](const std::string& name, Variable& p) {
    if (name != wanted) return;
    found = true;
    require(value.shape() == p.shape(), "MultiHeadAttention", "{} is {}, got {}", name, p.shape(), value.shape());
    p.mutable_value().copy_from(value.to(DType::f32));
  });
  require(found, "MultiHeadAttention", "there is no parameter '{}'", wanted);
}

}  // namespace

void bind_layer(nb::module_& m) {
  const nb::arg one = nb::arg();
  const auto maybe = nb::arg().none();
  nb::class_<AttentionCache>(m, "AttentionCache")
      .def(nb::init<>())
      .def("reorder", [](AttentionCache& cache, const std::vector<int64_t>& source) { cache.reorder(source); })
      .def_prop_ro("length", &AttentionCache::length);
  nb::class_<MultiHeadAttention>(m, "MultiHeadAttention")
      .def("__init__", &make_layer)
      .def("forward", &forward_layer, one, maybe, maybe, maybe, one, one)
      .def("step", &step)
      .def("parameters", &parameters)
      .def("set_parameter", &set_parameter);
  m.def("describe_layer", [](const std::string& text, int64_t source_length, int64_t target_length, int64_t batch) {
    return describe_layer(text, {.source_length = source_length, .target_length = target_length, .batch = batch});
  });
}

}  // namespace qkv::python
