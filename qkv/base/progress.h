// Progress of a long operation, on stderr: on a terminal one line that is redrawn and never wraps,
//
//     [=======>            ] step 1200/4000  epoch 3  loss 3.41  lr 4.2e-04  9.8k tokens/s  4m 12s left
//
// elsewhere (a file, a pipe) the same without the bar, a line every ten seconds. A narrow terminal drops the bar,
// then the parts of the highest rank. Notes are lines of their own.
//
//     Progress progress({.terminal = Progress::stderr_is_terminal()});
//     if (progress.due()) progress.show({.fraction = 0.3, .parts = {{"step 1200/4000"}, {"4m 12s left", 1}}});
//     progress.note("validation: loss 2.10");
//
// Failures to write to stderr are ignored.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace qkv {

struct ProgressPart {
  std::string text;
  int rank = 0;  // 0: always shown; the highest rank is dropped first
};

struct ProgressStatus {
  std::optional<double> fraction = {};  // of the work done, 0 to 1, if the end is known
  std::vector<ProgressPart> parts = {};
};

// As one line of less than `columns` characters, ASCII; without columns: all parts and no bar.
std::string format_progress(const ProgressStatus& status, std::optional<int64_t> columns);
std::string format_seconds(double seconds);  // "48s", "4m 12s", "2h 05m", "3d 04h"
std::string format_count(double count);      // "950", "9.8k", "1.2M"

int64_t terminal_columns();  // of stderr now; else the environment's COLUMNS; else 80

struct ProgressOptions {
  bool quiet = false;     // nothing is written
  bool terminal = false;  // stderr is a terminal
};

class Progress {
 public:
  explicit Progress(const ProgressOptions& options) : options_(options) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  static bool stderr_is_terminal();
  static void write(const std::string& text);

  bool due() const;  // at most ten times a second
  void show(const ProgressStatus& status);
  void note(const std::string& text);
  void clear();  // removes the line from the terminal, before something else is written there
  bool on_terminal() const { return options_.terminal && !options_.quiet; }

 private:
  void print(const std::string& text);

  using Clock = std::chrono::steady_clock;
  ProgressOptions options_;
  std::optional<Clock::time_point> shown_;
  bool drawn_ = false;  // the terminal shows a line of ours
};

// Shows "TEXT  12s" on a terminal, updated every second by a thread of its own, until destroyed. The progress must
// not be used meanwhile.
class ElapsedTime {
 public:
  ElapsedTime(Progress& progress, std::string text);
  ~ElapsedTime();
  ElapsedTime(const ElapsedTime&) = delete;
  ElapsedTime& operator=(const ElapsedTime&) = delete;

  double seconds() const;

 private:
  void run();

  Progress& progress_;
  const std::string text_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace qkv
