// The flags for the architecture of a model, for the commands that train one.
#pragma once

#include <string>
#include <vector>

#include "cli/app.h"
#include "qkv/model/config.h"

namespace qkv::cli {

// They write to `config`, which must outlive the app; the help shows its present values as the defaults.
std::vector<Option*> architecture_flags(App& app, TransformerConfig& config);

}  // namespace qkv::cli
