// A command of the program: `qkv NAME --flag value ...`.
//
// Each has a file with a function add_NAME(app) that declares its flags and returns the function to run. An
// InputError or Error ends the program with exit code 1, a UsageError with 2.
#pragma once

#include <functional>

#include "cli/app.h"

namespace qkv::cli {

struct Command {
  App* app;                  // the declared flags
  std::function<int()> run;  // the exit code
};

Command add_demo(App& app);
Command add_train(App& app);
Command add_translate(App& app);
Command add_generate(App& app);
Command add_chat(App& app);
Command add_embed(App& app);
Command add_fill_mask(App& app);
Command add_score(App& app);
Command add_perplexity(App& app);
Command add_evaluate(App& app);
Command add_inspect(App& app);
Command add_describe(App& app);
Command add_explain(App& app);
Command add_compare(App& app);
Command add_convert(App& app);
Command add_shortlist(App& app);
Command add_plot(App& app);
Command add_bench(App& app);
Command add_plan(App& app);

}  // namespace qkv::cli
