#include "cli/architecture.h"

#include "cli/flags.h"
#include "qkv/model/architecture_table.h"

namespace qkv::cli {

std::vector<Option*> architecture_flags(App& app, TransformerConfig& config) {
  std::vector<Option*> flags;
  visit_architecture(config, AddFlags{app, flags});
  return flags;
}

}  // namespace qkv::cli
