// Settings of a command from a TOML file: every flag is also a key, and the command line wins.
//
//     # train.toml
//     recipe = "transformer-small"
//     max-steps = 20000
//     [train]                          # a section with the name of the command is read too; those of other
//     commands
//                                      # are passed over
//     dropout = 0.2
//
//     qkv train --config train.toml --dropout 0.1
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace qkv::cli {

// The arguments of a command with those of its --config files put before them. Unknown keys and sections are
// UsageErrors that name the nearest known one.
std::vector<std::string> with_settings(const CLI::App& command, const std::vector<std::string>& arguments);

// The names of the flags of a command, without dashes.
std::vector<std::string_view> flag_names(const CLI::App& command);

}  // namespace qkv::cli
