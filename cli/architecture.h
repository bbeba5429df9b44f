// The flags for the architecture of a model, for the commands that train one.
#pragma once

#include <string>
#include <vector>

#include "cli/app.h"
#include "qkv/model/architecture_settings.h"

namespace qkv::cli {

// They write to `settings`, which must outlive the app; the help shows its present values as the defaults.
std::vector<Option*> architecture_flags(App& app, ArchitectureSettings& settings);

}  // namespace qkv::cli
