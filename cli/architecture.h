// The flags that say what a model is made of, for the commands that make one.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "qkv/model/config.h"

namespace qkv::cli {

// They write to `config`, which must outlive the app; the help shows what it holds now.
std::vector<CLI::Option*> architecture_flags(CLI::App& app, TransformerConfig& config);

}  // namespace qkv::cli
