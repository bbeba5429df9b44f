// Commands whose failures are tried: the files in the folder before, the command, the files it may replace, and how
// to continue after a failure.
//
//     for (const char* name : quick_scenario_names) ScenarioRun(make_scenario(name)) ...
//
// A new command is a new row in scenario.cc.
#pragma once

#include <string>
#include <vector>

#include "test/faults/snapshot.h"

namespace qkv {

using Arguments = std::vector<std::string>;

struct Scenario {
  std::string name;
  Snapshot before;         // the files of the folder, unrelated ones among them
  Arguments command;       // after "qkv", run in the folder
  Arguments outputs = {};  // files that it replaces, each atomically
  std::string model = {};  // the folder of the model that it trains, if any
  bool resumes = false;    // it resumes the existing model; else it replaces it
  bool slow = false;       // takes seconds: fewer failures are tried
  Arguments again;         // after a failure: must succeed, with the result of a quiet run
  Arguments resume = {};   // alternative to `again`; may be refused
};

// Scenarios that take a tenth of a second, and those that take longer.
inline constexpr const char* quick_scenario_names[] = {
    "train", "resume",    "overwrite", "overwrite_again", "resume_overwrite", "translate",
    "shard", "score",     "inspect",   "evaluate",        "convert",          "convert_gguf",
    "plot",  "shortlist", "explain",   "compare"};
inline constexpr const char* slow_scenario_names[] = {"demo"};

Scenario make_scenario(const std::string& name);

// The corpora of all scenarios with unrelated files, and a training on one of them that saves at every step.
Snapshot small_corpus_files();
Arguments small_training(const std::string& corpus, int steps);
// The command with these flags and values, in place of those it has.
Arguments with_flags(Arguments command, const Arguments& flags);

// Wrong input: changed files, or additional arguments.
struct Variation {
  std::string name;
  Snapshot files = {};       // instead of those of the scenario
  Arguments removed = {};    // files
  Arguments arguments = {};  // after those of the scenario, so they take precedence
  bool exact = false;        // if it succeeds, then with a model of the quiet run
};

std::vector<Variation> bad_inputs(const Scenario& scenario);   // damaged corpora and model files
std::vector<Variation> bad_options(const Scenario& scenario);  // each flag of the command's --help, absurd values

}  // namespace qkv
