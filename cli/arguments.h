// The arguments of a command as CLI11 reads them: short flags and the forms of boolean flags become --NAME=VALUE.
//
//     -m FOLDER            --model FOLDER         -m is short for --model in every command that has it
//     --no-lossless        --lossless=false       unless --no-lossless is itself a flag
//     --lossless true      --lossless=true        where the command takes no text as an argument
//
// What follows a flag with a value, and all after "--", is left as it is. UsageError for a boolean flag with another
// value than true or false.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace qkv::cli {

std::vector<std::string> normalized(const CLI::App& command, const std::vector<std::string>& typed);

// "m" for --model; empty if the flag has no short name.
std::string_view short_name(const CLI::Option& option);

// A flag that is true or false, and needs no value.
bool is_boolean(const CLI::Option& option);

}  // namespace qkv::cli
