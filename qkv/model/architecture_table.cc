#include "qkv/model/architecture_table.h"

#include <algorithm>

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

}  // namespace qkv
