// Runs a scenario with failures: whatever fails, every file that existed before keeps its bytes, unless the command
// is meant to replace it and the replacement is complete.
//
//     ScenarioRun run(make_scenario("overwrite"));
//     run.inject({.call = Call::write, .at = 3, .error = ENOSPC});
//     EXPECT_EQ(run.tally().lost, 0) << run.findings();
//
// After a failure the command, or the one that resumes it, is run once more without failures: it must end like an
// undisturbed run, with the same bits and the same files.
#pragma once

#include <string>
#include <vector>

#include "test/faults/command.h"
#include "test/faults/scenario.h"

namespace qkv {

struct Tally {
  int64_t runs = 0;       // commands with injected failures or invalid input
  int64_t failures = 0;   // failed calls and kills
  int64_t compared = 0;   // files
  int64_t lost = 0;       // files or models that are missing and not replaced by a complete one
  int64_t crashed = 0;    // ended by a signal that was not sent, or by the time limit
  int64_t unclear = 0;    // failed without a message that names the operation
  int64_t wrong = 0;      // exit code 0, but not the result of a quiet run
  int64_t different = 0;  // another result after the repeated command
  int64_t leftover = 0;   // additional files after the repeated command

  int64_t findings() const { return lost + crashed + unclear + wrong + different + leftover; }
  Tally& operator+=(const Tally& other);
  std::string to_string() const;
};

class ScenarioRun {
 public:
  explicit ScenarioRun(const Scenario& scenario);

  const Outcome& quiet() const { return quiet_; }  // the run without failures, with its numbers of calls
  void inject(const FaultPlan& plan);
  void vary(const Variation& variation);

  const Tally& tally() const { return tally_; }
  std::string findings() const;  // the first few, one line each

 private:
  enum class Holds { nothing, old_model, new_model, damaged };

  Holds model_of(const Snapshot& now);
  std::string scores(const std::filesystem::path& folder) const;
  void learn_models();
  bool is_output(const std::string& name) const;
  void check_bytes(const Snapshot& now, const std::string& what);
  void check_variation(const Snapshot& before, const Snapshot& now, const Outcome& outcome,
                       const std::string& what);
  void check_outcome(const Outcome& outcome, bool expected, const std::string& what);
  void check_end(const std::string& what, int64_t& differing);
  void run_again(const std::string& what);
  void found(int64_t& count, const std::string& what);

  Scenario scenario_;
  WorkFolder work_;
  std::filesystem::path folder_, expected_;  // where commands run; the result of the quiet run
  Outcome quiet_;
  Snapshot after_;
  std::vector<Snapshot> models_;     // the files of each complete model that is a valid result; the old one first
  std::vector<std::string> scores_;  // the scores by these models
  Tally tally_;
  std::vector<std::string> findings_;
};

}  // namespace qkv
