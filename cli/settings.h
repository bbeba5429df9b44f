// Settings of a command from a TOML file: every flag is also a key, and the command line wins.
//
//     # settings.toml
//     recipe = "transformer-small"     # before the first section: for every command
//     [train]                          # for qkv train only; sections of other commands are skipped
//     max-steps = 20000
//     train = ["pairs.de", "pairs.en"] # the same as "pairs.de,pairs.en"
//                                      # two corpora: [["pairs.de", "pairs.en"], ["more.tsv"]]
//     self-attention = ["window=64", "softcap=30"]
//
//     qkv train --config settings.toml --dropout 0.1
//
// Values have the type of the flag: strings, integers, numbers, true and false. Errors are UsageErrors that begin
// with FILE:LINE:COLUMN: invalid TOML, unknown keys and sections (with the nearest known one), wrong types.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace qkv::cli {

// The arguments of a command, preceded by those of its --config file that they do not replace.
std::vector<std::string> with_settings(CLI::App& command, const std::vector<std::string>& typed);

// It may be given several times.
bool is_list(const CLI::Option& option);

// The names of the flags of a command, without dashes; hidden ones left out.
std::vector<std::string_view> flag_names(const CLI::App& command);

}  // namespace qkv::cli
