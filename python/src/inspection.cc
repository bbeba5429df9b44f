#include "python/src/inspection.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "python/src/array.h"
#include "python/src/bind.h"
#include "python/src/text.h"
#include "qkv/base/error.h"
#include "qkv/interpret/head_patterns.h"
#include "qkv/interpret/rollout.h"
#include "qkv/interpret/weights_file.h"

namespace qkv::python {
namespace {

nb::any rollout(nb::list layers) {
  std::vector<Tensor> all;
  for (const nb::handle layer : layers) all.push_back(tensor_of(layer, "attention_rollout: layers"));
  return array_of(attention_rollout(all), true);
}

// [(name, [a strength or None of each head]), ...] of every pattern.
nb::list strengths(nb::handle weights, nb::handle keys, bool self_attention) {
  const LayerPatterns heads = pattern_strengths(tensor_of(weights, "pattern_strengths: weights"),
                                                strings_of(keys, "pattern_strengths: keys"), self_attention);
  nb::list out;
  for (size_t i = 0; i < head_patterns().size(); ++i) {
    nb::list of_heads;
    for (const HeadPatterns& head : heads) of_heads.append(nb::cast(head.strengths[i]));
    out.append(nb::make_tuple(text_of(head_patterns()[i].name), of_heads));
  }
  return out;
}

// groups: as maps_tuple() makes them.
void save(nb::list groups, const std::filesystem::path& path, bool with_rollout) {
  Inspection inspection;
  for (const nb::handle group : groups) {
    const auto parts = nb::borrow<nb::tuple>(group);
    AttentionMaps& maps = inspection.attention.emplace_back();
    for (const nb::handle layer : parts[1]) maps.layers.push_back(tensor_of(layer, "save: layers"));
    maps.rows = strings_of(parts[2], "save: rows");
    maps.columns = strings_of(parts[3], "save: columns");
    maps.use = value_named<AttentionUse>(string_of(parts[5], "save: use"), "save", "use");
  }
  save_weights(inspection, path, {.rollout = with_rollout});
}

nb::tuple tuple_of(const AblatedHeads& one) {
  return nb::make_tuple(text_of(one.name), one.loss, nb::cast(one.bleu));
}

}  // namespace

nb::tuple maps_tuple(const AttentionMaps& maps) {
  nb::list layers;
  for (const Tensor& layer : maps.layers) layers.append(array_of(layer, true));
  return nb::make_tuple(text_of(maps.title), layers, texts_of(maps.rows), texts_of(maps.columns),
                        text_of(maps.caption), text_of(name_of(maps.use)));
}

nb::tuple inspection_tuple(const Inspection& inspection) {
  nb::list groups;
  for (const AttentionMaps& maps : inspection.attention) groups.append(maps_tuple(maps));
  return nb::make_tuple(text_of(inspection.text), inspection.log_probability,
                        nb::cast(inspection.token_log_probabilities), texts_of(inspection.tokens),
                        inspection.truncated, groups);
}

std::vector<NamedHeads> groups_of(nb::list names, const ModelConfig& config, const char* where) {
  std::vector<NamedHeads> out;
  for (const std::string& name : strings_of(names, where))
    for (NamedHeads& group : heads_named(name, config, where)) out.push_back(std::move(group));
  return out;
}

std::vector<AttentionHead> heads_of(nb::list names, const ModelConfig& config, const char* where) {
  const std::vector<NamedHeads> groups = groups_of(names, config, where);
  require<UsageError>(groups.size() == nb::len(names), where,
                      "'all' and 'layers' are each head and each layer in turn: ablate() measures them");
  std::vector<AttentionHead> out;
  for (const NamedHeads& group : groups) out.insert(out.end(), group.heads.begin(), group.heads.end());
  return out;
}

nb::tuple ablation_tuple(const Ablation& ablation) {
  nb::list ablated;
  for (const AblatedHeads& one : ablation.ablated) ablated.append(tuple_of(one));
  return nb::make_tuple(tuple_of(ablation.whole), ablated, ablation.texts, ablation.tokens);
}

void bind_inspection(nb::module_& m) {
  m.def("attention_rollout", &rollout);
  m.def("pattern_strengths", &strengths);
  m.def("save_weights", &save);
}

}  // namespace qkv::python
