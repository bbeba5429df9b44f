// Scripts by which shells complete the commands, flags and values of qkv:
//
//     eval "$(qkv --completion bash)"      # or zsh;     qkv --completion fish | source
//
// `make install` puts them where the shells look for them.
#pragma once

#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace qkv::cli {

// UsageError for an unknown shell.
std::string completion_script(const CLI::App& program, const std::string& shell);

}  // namespace qkv::cli
