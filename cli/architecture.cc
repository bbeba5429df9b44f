#include "cli/architecture.h"

#include "cli/flags.h"
#include "qkv/model/architecture_table.h"

namespace qkv::cli {

std::vector<CLI::Option*> architecture_flags(CLI::App& app, TransformerConfig& config) {
  std::vector<CLI::Option*> flags;
  visit_architecture(config, AddFlags{app, flags});
  return flags;
}

}  // namespace qkv::cli
