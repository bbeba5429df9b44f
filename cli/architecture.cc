#include "cli/architecture.h"

#include "cli/flags.h"

namespace qkv::cli {

std::vector<Option*> architecture_flags(App& app, ArchitectureSettings& settings) {
  std::vector<Option*> flags;
  settings.visit(AddFlags{app, flags});
  return flags;
}

}  // namespace qkv::cli
