// The flags for the architecture of a model, for the commands that train one.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "qkv/model/config.h"

namespace qkv::cli {

// They write to `config`, which must outlive the app; the help shows its present values as the defaults.
std::vector<CLI::Option*> architecture_flags(CLI::App& app, TransformerConfig& config);

}  // namespace qkv::cli
