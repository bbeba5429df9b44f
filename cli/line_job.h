// Answering an input line by line into an output: what qkv translate and qkv score have in common.
//
//     LineJob job({.command = "translate", .input = "-", .output = "out.txt", .quiet = false});
//     return job.run([&] {
//       job.answer<std::string>(lines, [&](const auto& read) { ... job.print(text, 1); ... });
//     });
//
// On a terminal it shows its progress. If SIGINT, SIGTERM or SIGHUP interrupts it while it writes to a file, the
// lines answered so far are kept in FILE.partial, or FILE.partial.2 if that exists; FILE itself is written only when it
// is complete. The exit code is then 128 + the number of the signal.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/answer_lines.h"
#include "cli/output.h"
#include "qkv/base/progress.h"
#include "qkv/train/interrupt.h"

namespace qkv::cli {

struct LineJobOptions {
  std::string command, input, output;
  bool strict = false, quiet = false;
};

class LineJob {
 public:
  explicit LineJob(const LineJobOptions& options);

  template <class Work>
  int run(Work work) {
    try {
      work();
      check_interrupt();  // the writer of a pipe may have been interrupted too: the input is not complete
    } catch (const Interrupted&) {
      return keep_partial();
    }
    finish();
    return 0;
  }

  template <class Item, class Reader, class Answer>
  void answer(Reader& reader, Answer answer) {
    AnswerOptions options = {.strict = options_.strict};
    if (interrupt_) options.before_wait = [this] { check_interrupt(); };
    answer_lines<Item>(reader, reports_, options, [&](const auto& read) {
      answer(read);
      progress_.clear();
      out_.flush();
      base_ += static_cast<int64_t>(read.size());
    });
  }

  void print(std::string_view text);  // the answer of one line, with its line feed
  void show(int64_t done);            // lines answered of those read last; throws when interrupted
  void report(const std::string& kind, const std::string& message);
  void say(const std::string& message);

 private:
  struct Interrupted {};
  using Clock = std::chrono::steady_clock;

  void check_interrupt() const;
  int keep_partial();
  void finish();

  const LineJobOptions options_;
  Output out_;
  std::optional<Interrupt> interrupt_;  // of a job that writes to a file
  LineReports reports_;
  Progress progress_;
  std::optional<int64_t> total_;    // lines of the input, if known
  int64_t base_ = 0, printed_ = 0;  // lines answered before those read last; lines printed
  Clock::time_point start_ = Clock::now();
};

// "longer than the model's 1024 tokens": why a line of a model was cut.
std::string too_long(const ModelConfig& config, int64_t limit);

// Progress in lines, for callers that count the finished ones.
ProgressStatus line_progress(int64_t done, std::optional<int64_t> total, double seconds);

}  // namespace qkv::cli
