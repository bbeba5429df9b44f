// A command of the program: `qkv NAME --flag value ...`.
//
// Each has a file with a function add_NAME(app) that declares its flags and returns the function to run. An
// InputError or Error ends the program with exit code 1, a UsageError with 2.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace qkv::cli {

struct Command {
  CLI::App* app;             // the declared flags
  std::function<int()> run;  // the exit code
};

Command add_demo(CLI::App& app);
Command add_train(CLI::App& app);
Command add_translate(CLI::App& app);
Command add_generate(CLI::App& app);
Command add_embed(CLI::App& app);
Command add_fill_mask(CLI::App& app);
Command add_score(CLI::App& app);
Command add_perplexity(CLI::App& app);
Command add_evaluate(CLI::App& app);
Command add_inspect(CLI::App& app);
Command add_describe(CLI::App& app);
Command add_convert(CLI::App& app);

}  // namespace qkv::cli
