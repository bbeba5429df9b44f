#include "cli/line_job.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <unistd.h>
#include <utility>

#include "qkv/base/counted.h"
#include "qkv/base/json.h"
#include "qkv/text/bytes.h"

namespace qkv::cli {
namespace {

// The number of lines of a regular file; a pair of files has as many lines as the first one.
std::optional<int64_t> count_lines(const std::string& input) {
  std::error_code error;
  std::string path = input;
  if (!std::filesystem::exists(path, error)) path = path.substr(0, path.find(','));
  if (!std::filesystem::is_regular_file(path, error)) return {};
  try {
    const auto bytes = open_bytes(path);
    std::vector<char> buffer(1 << 16);
    int64_t lines = 0;
    char last = '\n';
    while (const size_t n = bytes->read(buffer.data(), buffer.size())) {
      lines += std::count(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(n), '\n');
      last = buffer[n - 1];
    }
    return lines + (last != '\n');
  } catch (const InputError&) {  // reported when the lines are read
    return {};
  }
}

// Not where a person types lines and reads the answers.
bool shows_progress(const LineJobOptions& options) {
  std::error_code error;
  const bool prints_elsewhere = options.output != "-" || ::isatty(STDOUT_FILENO) != 1;
  const bool reads_terminal = options.input == "-" && ::isatty(STDIN_FILENO) == 1;
  return !options.quiet && Progress::stderr_is_terminal() && !reads_terminal &&
         (prints_elsewhere || options.input != "-");
}

}  // namespace

LineJob::LineJob(const LineJobOptions& options)
    : options_(options),
      out_(options.resumable ? "-" : options.output),
      progress_({.quiet = !shows_progress(options), .terminal = true}) {
  if (out_.is_file() || options.resumable) interrupt_.emplace();
  if (options.resumable) {
    resumed_ = options.resumable->lines();
    compressor_ = compressor_for(options.output);
  } else if (progress_.on_terminal()) {
    total_ = count_lines(options.input);
  }
}

void LineJob::print(std::string_view text) {
  ++printed_;
  if (options_.resumable) {
    answers_ += text;
    return;
  }
  if (!out_.is_file()) progress_.clear();
  out_.print(text);
}

void LineJob::flush(int64_t lines) {
  if (!options_.resumable) return out_.flush();
  if (compressor_) {
    std::string frame = compressor_->compress(answers_);
    answers_ = std::move(frame += compressor_->finish());
  }
  options_.resumable->append(answers_, lines);
  answers_.clear();
}

void LineJob::show(int64_t done) {
  check_interrupt();
  if (options_.json_progress > 0) show_json(base_ + done);
  if (progress_.due())
    progress_.show(
        line_progress(base_ + done, total_, std::chrono::duration<double>(Clock::now() - start_).count()));
}

void LineJob::show_json(int64_t done) {
  const auto now = Clock::now();
  if (std::chrono::duration<double>(now - shown_).count() < options_.json_progress) return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const auto tenths = [](double number) { return std::round(number * 10) / 10; };
  const Json line = {{"command", options_.command},
                     {"lines", resumed_ + done},
                     {"resumed", resumed_},
                     {"seconds", tenths(seconds)},
                     {"lines_per_second", tenths(static_cast<double>(done) / seconds)}};
  cli::say(line.dump());
}

void LineJob::report(const std::string& kind, const std::string& message) {
  progress_.clear();
  reports_.add(kind, message);
}

void LineJob::say(const std::string& message) {
  if (!options_.quiet) cli::say(message);
}

void LineJob::check_interrupt() const {
  if (interrupt_ && interrupt_->requested()) throw Interrupted();
}

int LineJob::keep_partial() {
  progress_.clear();
  if (options_.resumable && options_.resumable->lines() > 0) {
    cli::say(fmt::format("qkv {}: interrupted; kept {} in {}.part; the same command continues", options_.command,
                         counted(options_.resumable->lines(), "line"), options_.output));
    return 128 + interrupt_->signal();
  }
  if (!total_) total_ = count_lines(options_.input);
  const std::string lines = total_ ? fmt::format("{} of {}", printed_, counted(*total_, "line"))
                                   : fmt::format("{}", counted(printed_, "line"));
  if (printed_ == 0 || options_.resumable) {
    cli::say(fmt::format("qkv {}: interrupted before the first lines were done; {} is not written",
                         options_.command, options_.output));
  } else {
    std::error_code error;
    const bool is_stream =
        std::filesystem::is_other(options_.output, error);  // a pipe or device was written directly
    const std::string partial = out_.close_beside(options_.output + (is_stream ? "" : ".partial"));
    cli::say(fmt::format("qkv {}: interrupted; kept {} in {}", options_.command, lines, partial));
  }
  return 128 + interrupt_->signal();
}

void LineJob::finish() {
  progress_.clear();
  if (options_.resumable) {
    const bool is_empty = options_.resumable->lines() == 0;  // which is not a compressed file
    if (compressor_ && is_empty) options_.resumable->append(compressor_->finish(), 0);
    options_.resumable->commit();
  }
  out_.close();
  reports_.finish();
}

std::string too_long(const ModelConfig& config, int64_t limit) {
  if (limit == config.position_limit()) return fmt::format("longer than the model's {} tokens", limit);
  return fmt::format("longer than {} tokens (--max-input-tokens)", limit);
}

ProgressStatus line_progress(int64_t done, std::optional<int64_t> total, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  ProgressStatus status;
  status.parts = {{total ? fmt::format("line {}/{}", done, *total) : fmt::format("line {}", done)},
                  {fmt::format("{:.1f} lines/s", rate), 2}};
  if (!total || *total == 0) return status;
  status.fraction = static_cast<double>(done) / static_cast<double>(*total);
  if (rate > 0) status.parts.push_back({format_seconds(static_cast<double>(*total - done) / rate) + " left", 1});
  return status;
}

}  // namespace qkv::cli
