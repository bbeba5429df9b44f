// The command line: chooses the command, reads its settings and flags, and runs it.
#pragma once

#include <string>
#include <vector>

namespace qkv::cli {

// The exit code (exit_code.h). What is thrown is for main(): errors that name no flag.
int run_program(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace qkv::cli
