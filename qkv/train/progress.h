// How a training tells a person how it goes, on stderr: on a terminal one line that is written over and over,
//
//     [=======>            ] step 1200/4000  epoch 3  loss 3.41  rate 4.2e-04  9.8k tokens/s  4m 12s left
//
// elsewhere (a file, a pipe) the same without the bar, a line every ten seconds. Notes are lines of their own.
//
//     Progress progress({.quiet = false});
//     progress.show({.step = 1200, .steps = 4000, ...});      // cheap: drawn at most ten times a second
//     progress.note("validation: loss 2.10");
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace qkv {

struct ProgressLine {
  int64_t step = 0, steps = 0;  // steps 0: nobody knows the last one
  int64_t epoch = 0;            // from 1
  double loss = 0, rate = 0, tokens_per_s = 0;
  std::optional<double> seconds_left = {};
};

std::string format_progress(const ProgressLine& line, bool bar);
std::string format_seconds(double seconds);  // "48s", "4m 12s", "2h 05m", "3d 04h"
std::string format_count(double count);      // "950", "9.8k", "1.2M"

struct ProgressOptions {
  bool quiet = false;     // nothing is said
  bool terminal = false;  // stderr is one
};

class Progress {
 public:
  explicit Progress(const ProgressOptions& options) : options_(options) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  static bool stderr_is_terminal();
  static void write(const std::string& text);  // to stderr, as far as it takes it

  void show(const ProgressLine& line);
  void note(const std::string& text);

 private:
  void clear();  // takes the bar off the terminal
  void print(const std::string& text);

  using Clock = std::chrono::steady_clock;
  ProgressOptions options_;
  std::optional<Clock::time_point> shown_;
  bool bar_is_there_ = false;
};

}  // namespace qkv
