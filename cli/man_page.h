// The manual page of qkv(1), in roff, made of the flags that the commands declare:
//
//     qkv --man | man -l -
#pragma once

#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace qkv::cli {

std::string man_page(const CLI::App& program, const std::string& version);

}  // namespace qkv::cli
