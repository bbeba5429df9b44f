#include "test/faults/interruption.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "test/faults/command.h"
#include "test/faults/same_training.h"
#include "test/faults/scenario.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGKILL};

class Interrupter {
 public:
  explicit Interrupter(const InterruptionOptions& options)
      : options_(options), random_(options.seed), work_("interruption"), files_(small_corpus_files()) {}

  Interruptions run() {
    const auto begin = std::chrono::steady_clock::now();
    restore(work_.path() / "whole", files_);
    const Outcome whole = run_command(command(), {.folder = work_.path() / "whole"});
    require(whole.succeeded(), "interrupt_trainings", "{}", whole.error);
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    while (interruptions_ < options_.count) interrupt_one();
    return result_;
  }

 private:
  // The same command line starts and resumes.
  static Arguments command() {
    Arguments line = small_training("pairs.tsv", 30);
    line.push_back("--resume");
    return line;
  }

  // From start to end, with at least one interruption.
  void interrupt_one() {
    const fs::path folder = work_.path() / "interrupted";
    restore(folder, files_);
    bool done = false;
    for (int64_t met = 0; !done;) {
      // Each further signal is less likely, so that the loop ends.
      const bool undisturbed = met > 0 && random_.below(2) == 0;
      const bool had_model = fs::exists(folder / "model/model.safetensors");
      RunningCommand training(command(), {.folder = folder});
      const size_t which = random_.below(4);
      if (!undisturbed) {
        ::usleep(static_cast<useconds_t>(1e6 * random_.uniform(0, seconds_)));
        ::kill(training.process(), signals[which]);
      }
      const Outcome o = training.wait();
      done = o.succeeded();
      if (!done) {
        ++met;
        ++interruptions_;
        ++result_.by_signal[which];
        if (!check(o, which, folder, had_model)) return;
      } else if (met == 0) {  // it ended before the signal: repeat
        restore(folder, files_);
        done = false;
        seconds_ *= 0.9;  // measured on a busier machine
      }
    }
    ++result_.trainings;
    const std::string difference = training_difference(work_.path() / "whole/model", folder / "model");
    if (!difference.empty()) found(result_.different, difference);
  }

  bool check(const Outcome& o, size_t which, const fs::path& folder, bool had_model) {
    const bool saved = o.code == 128 + signals[which];
    result_.saved += saved;
    if (!saved && o.signal != signals[which]) {
      found(result_.crashed,
            fmt::format("exit {}, signal {}, after signal {}: {}", o.code, o.signal, signals[which], o.error));
      return false;
    }
    if ((saved || had_model) && !fs::exists(folder / "model/model.safetensors"))
      found(result_.lost, fmt::format("no model after signal {}", signals[which]));
    return true;
  }

  void found(int64_t& count, const std::string& what) {
    if (++count <= 5) result_.findings += what + "\n";
  }

  InterruptionOptions options_;
  Random random_;
  WorkFolder work_;
  Snapshot files_;
  double seconds_ = 0;
  int64_t interruptions_ = 0;
  Interruptions result_;
};

}  // namespace

std::string Interruptions::to_string() const {
  return fmt::format(
      "{} trainings interrupted {} times (TERM {}, INT {}, HUP {}, KILL {}; {} saved): {} lost, {} crashed, {} "
      "different",
      trainings, by_signal[0] + by_signal[1] + by_signal[2] + by_signal[3], by_signal[0], by_signal[1],
      by_signal[2], by_signal[3], saved, lost, crashed, different);
}

Interruptions interrupt_trainings(const InterruptionOptions& options) { return Interrupter(options).run(); }

}  // namespace qkv
