#include "qkv/base/progress.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace qkv {
namespace {

std::string joined(const std::vector<ProgressPart>& parts) {
  std::string text;
  for (const ProgressPart& part : parts) text += (text.empty() ? "" : "  ") + part.text;
  return text;
}

std::string bar(double fraction, int64_t width) {
  const auto done = static_cast<int64_t>(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(width));
  const auto rest = static_cast<size_t>(std::max<int64_t>(0, width - done - 1));
  return fmt::format("[{}{}{}] ", std::string(static_cast<size_t>(done), '='), done < width ? ">" : "",
                     std::string(rest, ' '));
}

}  // namespace

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

std::string format_progress(const ProgressStatus& status, std::optional<int64_t> columns) {
  if (!columns) return joined(status.parts);
  const int64_t room = std::max<int64_t>(0, *columns - 1);  // a full last column wraps on some terminals
  std::vector<ProgressPart> parts = status.parts;
  std::string text = joined(parts);
  while (static_cast<int64_t>(text.size()) > room && parts.size() > 1) {
    const auto by_rank = [](const ProgressPart& a, const ProgressPart& b) { return a.rank < b.rank; };
    const auto last = std::max_element(parts.begin(), parts.end(), by_rank);
    if (last->rank == 0) break;
    parts.erase(last);
    text = joined(parts);
  }
  if (static_cast<int64_t>(text.size()) > room) text.resize(static_cast<size_t>(room));
  constexpr int64_t longest = 20, shortest = 8, frame = 3;  // "[", "] "
  const int64_t width = std::min(longest, room - static_cast<int64_t>(text.size()) - frame);
  return status.fraction && width >= shortest ? bar(*status.fraction, width) + text : text;
}

int64_t terminal_columns() {
  winsize size = {};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  int64_t columns = 0;
  const char* given = std::getenv("COLUMNS");
  const std::string_view text = given ? given : "";
  std::from_chars(text.data(), text.data() + text.size(), columns);
  return columns > 0 ? columns : 80;
}

void Progress::write(const std::string& text) { std::fputs(text.c_str(), stderr); }

bool Progress::stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

bool Progress::due() const {
  const auto pause = options_.terminal ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10'000);
  return !options_.quiet && (!shown_ || Clock::now() - *shown_ >= pause);
}

void Progress::show(const ProgressStatus& status) {
  if (!due()) return;
  shown_ = Clock::now();
  if (options_.terminal) {
    write(fmt::format("\r{}\x1b[K", format_progress(status, terminal_columns())));
    std::fflush(stderr);
    drawn_ = true;
  } else {
    print(format_progress(status, {}));
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
  if (!drawn_) return;
  write("\r\x1b[K");
  std::fflush(stderr);
  drawn_ = false;
}

ElapsedTime::ElapsedTime(Progress& progress, std::string text) : progress_(progress), text_(std::move(text)) {
  if (!progress_.on_terminal()) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {  // no thread to be had: no display
  }
}

ElapsedTime::~ElapsedTime() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    stop_.notify_one();
    thread_.join();
  }
  progress_.clear();
}

double ElapsedTime::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void ElapsedTime::run() {
  std::unique_lock lock(mutex_);
  do {
    progress_.show({.parts = {{text_}, {format_seconds(seconds()), 1}}});
  } while (!stop_.wait_for(lock, std::chrono::seconds(1), [this] { return stopped_; }));
}

}  // namespace qkv
