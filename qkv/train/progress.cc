#include "qkv/train/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>

namespace qkv {

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds) || seconds > 1e9) return "?";
  const auto s = static_cast<int64_t>(std::llround(std::max(0.0, seconds)));
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m {:02}s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{}h {:02}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d {:02}h", s / 86400, s / 3600 % 24);
}

std::string format_count(double count) {
  if (count < 1000) return fmt::format("{:.0f}", count);
  if (count < 1e6) return fmt::format("{:.1f}k", count / 1e3);
  return fmt::format("{:.1f}M", count / 1e6);
}

std::string format_progress(const ProgressLine& line, bool bar) {
  std::string out;
  if (bar && line.steps > 0) {
    constexpr int64_t width = 20;
    const int64_t done = std::min(width, line.step * width / line.steps);
    out = fmt::format("[{}{}{}] ", std::string(static_cast<size_t>(done), '='), done < width ? ">" : "",
                      std::string(static_cast<size_t>(std::max<int64_t>(0, width - done - 1)), ' '));
  }
  out += line.steps > 0 ? fmt::format("step {}/{}", line.step, line.steps) : fmt::format("step {}", line.step);
  out += fmt::format("  epoch {}  loss {:.3f}  rate {:.1e}  {} tokens/s", line.epoch, line.loss, line.rate,
                     format_count(line.tokens_per_s));
  if (line.seconds_left) out += fmt::format("  {} left", format_seconds(*line.seconds_left));
  return out;
}

// A standard error that is full or closed is no reason to end a training.
void Progress::write(const std::string& text) { std::fputs(text.c_str(), stderr); }

bool Progress::stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

void Progress::show(const ProgressLine& line) {
  if (options_.quiet) return;
  const auto now = Clock::now();
  const auto pause = options_.terminal ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10'000);
  if (shown_ && now - *shown_ < pause) return;
  shown_ = now;
  if (options_.terminal) {
    write(fmt::format("\r{}\x1b[K", format_progress(line, true)));
    std::fflush(stderr);
    bar_is_there_ = true;
  } else {
    print(format_progress(line, false));
  }
}

void Progress::note(const std::string& text) {
  if (!options_.quiet) print(text);
}

void Progress::print(const std::string& text) {
  clear();
  write(text + "\n");
}

void Progress::clear() {
  if (!bar_is_there_) return;
  write("\r\x1b[K");
  std::fflush(stderr);
  bar_is_there_ = false;
}

}  // namespace qkv
