#include "qkv/model/architecture_settings.h"

#include <map>
#include <type_traits>
#include <vector>

#include "qkv/model/field_value.h"

namespace qkv {
namespace {

template <class Config, class Visitor>
void visit_values(Config& config, Visitor&& visitor) {
  architecture_table::visit_vocabularies(config, visitor);
  architecture_table::visit_settings(config, visitor);
}

// The rows that both have.
template <class From, class To>
void copy_rows(const From& from, To& to) {
  std::map<std::string_view, const void*> fields;
  visit_values(from,
               [&](const Setting& setting, const auto& field, const FieldUse&) { fields[setting.name] = &field; });
  visit_values(to, [&]<class T>(const Setting& setting, T& field, const FieldUse&) {
    const auto found = fields.find(setting.name);
    if (found != fields.end())
      field = *static_cast<const T*>(found->second);  // of the same row, so of the same type
  });
}

}  // namespace

ArchitectureSettings::ArchitectureSettings(const ModelConfig& config) : architecture_(config.architecture()) {
  if (config.is_recurrent())
    copy_rows(config.recurrent(), fields_);
  else
    fields_ = config.transformer();
  before_ = fields_;
}

ModelConfig ArchitectureSettings::config(std::string_view where) const {
  std::vector<Json> before;
  visit_values(before_,
               [&](const Setting&, const auto& field, const FieldUse&) { before.push_back(field_value(field)); });
  auto next = before.begin();
  visit_values(fields_, [&](const Setting& setting, const auto& field, const FieldUse& use) {
    if (field_value(field) != *next++) require_field(where, setting, use, architecture_);
  });
  if (is_recurrent(architecture_)) {
    RecurrentConfig config{.architecture = architecture_};
    copy_rows(fields_, config);
    return config;
  }
  TransformerConfig config = fields_;
  config.architecture = architecture_;
  return config;
}

}  // namespace qkv
