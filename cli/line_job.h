// Answering an input line by line into an output: what qkv translate and qkv score have in common.
//
//     LineJob job({.command = "translate", .input = "-", .output = "out.txt", .quiet = false});
//     return job.run([&] {
//       job.answer<std::string>(lines, [&](const auto& read) { ... job.print(text, 1); ... });
//     });
//
// A job with a ResumableFile writes its answers there block by block: killed, it loses none that were written, and the same
// command continues.
//
// On a terminal it shows its progress; with `json_progress`, a line of JSON on stderr at that interval:
//
//     {"command":"translate","lines":12800,"resumed":6400,"seconds":61.2,"lines_per_second":104.6}
//
// lines: answered, those of earlier runs of the same command (resumed) among them.
//
// If SIGINT, SIGTERM or SIGHUP interrupts it while it writes to a file, the lines answered so far are kept in FILE.partial,
// or FILE.partial.2 if that exists; FILE itself is written only when it is complete. The exit code is then 128 + the
// number of the signal.
#pragma once

#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/answer_lines.h"
#include "cli/output.h"
#include "qkv/base/progress.h"
#include "qkv/base/resumable_file.h"
#include "qkv/train/interrupt.h"

namespace qkv::cli {

struct LineJobOptions {
  std::string command, input, output;
  bool strict = false, quiet = false;
  ResumableFile* resumable = nullptr;  // instead of the output
  double json_progress = 0;            // seconds; 0: none
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
    if (options_.resumable) {
      // Many lines make the best batches, and what a kill loses is one block.
      options.max_lines = 16'384;
      options.fast = 10;
      options.slow = 40;
    }
    if (interrupt_) options.before_wait = [this] { check_interrupt(); };
    answer_lines<Item>(reader, reports_, options, [&](const auto& read) {
      answer(read);
      progress_.clear();
      flush(std::ssize(read));
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
  void flush(int64_t lines);
  void show_json(int64_t done);
  int keep_partial();
  void finish();

  const LineJobOptions options_;
  Output out_;
  std::unique_ptr<Compressor> compressor_;  // of the resumable file: a frame for each block
  std::string answers_;                     // of the block
  int64_t resumed_ = 0;                     // lines answered by earlier processes
  std::optional<Interrupt> interrupt_;      // of a job that writes to a file
  LineReports reports_;
  Progress progress_;
  std::optional<int64_t> total_;    // lines of the input, if known
  int64_t base_ = 0, printed_ = 0;  // lines answered before those read last; lines printed
  Clock::time_point start_ = Clock::now(), shown_ = start_;
};

// "longer than the model's 1024 tokens": why a line of a model was cut.
std::string too_long(const ModelConfig& config, int64_t limit);

// Progress in lines, for callers that count the finished ones.
ProgressStatus line_progress(int64_t done, std::optional<int64_t> total, double seconds);

}  // namespace qkv::cli
