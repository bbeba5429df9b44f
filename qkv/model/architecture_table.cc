#include "qkv/model/architecture_table.h"

#include <algorithm>
#include <vector>

#include "qkv/base/error.h"

namespace qkv {

std::string key_of(const Setting& setting, const FieldUse& use) {
  std::string key = use.key ? use.key : setting.name;
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

void require_field(std::string_view where, const Setting& setting, const FieldUse& use, Architecture architecture) {
  require<UsageError>(has_field(use.models, architecture), where, "{} is for {}: a {} model has none", setting.name,
                      name_of(use.models), name_of(architecture));
}

TransformerConfig for_architecture(TransformerConfig config, Architecture architecture) {
  config.architecture = architecture;
  const TransformerConfig defaults;
  std::vector<const void*> values;  // the default of every row
  visit_fields(defaults, [&](const Setting&, const auto& field, const FieldUse&) { values.push_back(&field); });
  auto next = values.begin();
  visit_fields(config, [&]<class T>(const Setting&, T& field, const FieldUse& use) {
    const T& default_value = *static_cast<const T*>(*next++);
    if (!has_field(use.models, architecture)) field = default_value;
  });
  return config;
}

}  // namespace qkv
