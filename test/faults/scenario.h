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
  Snapshot before;         // what the folder holds; foreign files among it
  Arguments command;       // after "qkv", run in the folder
  Arguments outputs = {};  // files that it replaces, each as a whole
  std::string model = {};  // the folder of the model that it trains, if any
  bool resumes = false;    // it goes on with the model that is there; else it replaces it
  bool slow = false;       // seconds a run: fewer failures are tried
  Arguments again;         // after a failure: must succeed, and reach the end of a quiet run
  Arguments resume = {};   // instead, if it is not refused
};

// Those that take a tenth of a second, and those that take longer.
inline constexpr const char* quick_scenario_names[] = {
    "train", "resume", "overwrite", "overwrite_again", "resume_overwrite", "translate", "score", "inspect"};
inline constexpr const char* slow_scenario_names[] = {"demo"};

Scenario make_scenario(const std::string& name);

// The corpora of all scenarios, foreign files beside them, and a training on one of them that saves at every step.
Snapshot small_corpus_files();
Arguments small_training(const std::string& corpus, int steps);

// Wrong input: changed files, or additional arguments.
struct Variation {
  std::string name;
  Snapshot files = {};       // instead of those of the scenario
  Arguments removed = {};    // files
  Arguments arguments = {};  // behind those of the scenario, so they win
  bool exact = false;        // if it succeeds all the same, then with a model that the quiet run has too
};

std::vector<Variation> bad_inputs(
    const Scenario& scenario);  // corpora and model files that are not as they should be
std::vector<Variation> bad_options(const Scenario& scenario);  // each flag of the command's --help, absurd values

}  // namespace qkv
