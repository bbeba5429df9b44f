// Runs the command `qkv` in a folder, without output, optionally with injected failures and always with a time limit.
//
//     const Outcome o = run_command({"score", "--model", "model", "--input", "pairs.tsv"}, {.folder = folder});
//     EXPECT_EQ(o.code, 0) << o.error;
//
// Memory is limited to 4 GB and time to `seconds`; a command that takes longer ends by SIGALRM.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "test/faults/fault_plan.h"

namespace qkv {

struct CommandOptions {
  std::string folder = {};                              // the working folder of the command
  std::optional<FaultPlan> faults = {};                 // none: the library is not loaded
  std::string preload = {};                             // another library to load first
  std::map<std::string, std::string> environment = {};  // besides what this process has
  unsigned seconds = 30;                                // 0: no limit
};

struct Outcome {
  int code = 0;    // exit code, if it was not ended by a signal
  int signal = 0;  // else
  std::string output, error;
  std::array<int64_t, call_names.size()> calls{};  // counted by fault_library; zeros without it
  int64_t written = 0, injected = 0;

  bool succeeded() const { return code == 0 && signal == 0; }
};

// A command that runs concurrently with this process.
class RunningCommand {
 public:
  RunningCommand(const std::vector<std::string>& arguments, const CommandOptions& options);
  ~RunningCommand();  // kills it unless wait() was called
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

  pid_t process() const { return process_; }
  Outcome wait();

 private:
  pid_t process_ = -1;
  int output_ = -1, error_ = -1, report_file_ = -1;
  FaultReport* report_ = nullptr;
};

Outcome run_command(const std::vector<std::string>& arguments, const CommandOptions& options);

}  // namespace qkv
