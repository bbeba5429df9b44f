// Answers every line of an input in order, as lines arrive.
//
//     LineReader lines("-");
//     answer_lines<std::string>(lines, reports, {}, [&](const auto& read) {
//       for (const auto& line : read) out.print(line.item + "\n");
//     });
//
// A line that cannot be read, or that answer() refuses by a RefusedTexts because it cannot be tokenized, is reported on
// stderr, "stdin:2: invalid UTF-8 at byte 7", and has an empty line as its answer, so that answers have the numbers of
// their lines. The first ten reports of a kind are printed, and their number at the end. With `strict` the first one
// ends the command with exit code 1. Lines read before an error of any kind are answered before it is thrown.
//
// answer(lines) gives the library the items of the lines that are not bad, good_items(lines), before it prints
// anything: after a RefusedTexts it is called again, with more bad lines.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/output.h"
#include "qkv/pipeline/encode_texts.h"
#include "qkv/text/corpus.h"

namespace qkv::cli {

// Messages about lines, the first ten of a kind.
class LineReports {
 public:
  void add(const std::string& kind, std::string_view message) {
    if (++counts_[kind] <= max_of_a_kind) say(message);
  }
  void finish() const {  // "12 lines in all could not be read"
    for (const auto& [kind, count] : counts_)
      if (count > max_of_a_kind) say(fmt::format("{} lines in all {}", count, kind));
  }

 private:
  static constexpr int64_t max_of_a_kind = 10;
  std::map<std::string, int64_t> counts_;
};

template <class Item>
struct ReadLine {
  Item item = {};
  std::string where = {};  // "stdin:2"
  bool bad = false;        // could not be read
};

struct AnswerOptions {
  bool strict = false;
  size_t min_lines = 64, max_lines = 2048, max_bytes = size_t{1} << 24;  // read before they are answered
  double fast = 2, slow = 8;               // seconds: blocks become larger, or smaller
  std::function<void()> before_wait = {};  // called repeatedly while no input arrives; may throw
};

template <class Item>
std::vector<Item> good_items(const std::vector<ReadLine<Item>>& lines) {
  std::vector<Item> items;
  for (const ReadLine<Item>& line : lines)
    if (!line.bad) items.push_back(line.item);
  return items;
}

constexpr const char* not_read = "could not be read; each has an empty line in its place";

inline size_t bytes_of(const std::string& line) { return line.size(); }
inline size_t bytes_of(const SentencePair& pair) { return pair.source.size() + pair.target.size(); }

// Reads the next line into `line`, reporting a bad one unless strict. False at the end.
template <class Item, class Reader>
bool read_line(Reader& reader, ReadLine<Item>& line, bool strict, LineReports& reports) {
  try {
    if (!reader.next(line.item)) return false;
  } catch (const LineError& e) {
    if (strict) throw;
    reports.add(not_read, fmt::format("{}; wrote an empty line in its place", e.what()));
    line = {.bad = true};
  }
  line.where = reader.where();
  return true;
}

// Marks the lines that the library could not tokenize as bad. With strict, the first of them and all after it are
// dropped, and the error that is thrown once the others are answered is returned.
template <class Item>
std::optional<InputError> refuse_lines(std::vector<ReadLine<Item>>& lines, const RefusedTexts& error, bool strict,
                                       LineReports& reports) {
  std::vector<size_t> good;
  for (size_t i = 0; i < lines.size(); ++i)
    if (!lines[i].bad) good.push_back(i);
  for (const RefusedTexts::Text& text : error.texts()) {
    const size_t i = good.at(text.index);
    const InputError refused(lines[i].where, text.reason);
    if (strict) {
      lines.resize(i);
      return refused;
    }
    reports.add(not_read, fmt::format("{}; wrote an empty line in its place", refused.what()));
    lines[i] = {.item = {}, .where = lines[i].where, .bad = true};
  }
  return {};
}

template <class Item, class Answer>
void answer_block(std::vector<ReadLine<Item>>& lines, LineReports& reports, bool strict, Answer answer) {
  std::optional<InputError> end;
  for (bool answered = false; !answered && !lines.empty();) {
    try {
      answer(lines);
      answered = true;
    } catch (const RefusedTexts& e) {
      if (const auto refused = refuse_lines(lines, e, strict, reports)) end = refused;
    }
  }
  if (end) throw *end;
}

// How many lines are read before they are answered: more make better batches, fewer make answers and interruptions
// prompt. Doubled after a fast block, halved after a slow one.
inline size_t next_block_size(size_t lines, double seconds, const AnswerOptions& options) {
  if (seconds > options.slow) return std::max(options.min_lines, lines / 2);
  return seconds < options.fast ? std::min(options.max_lines, lines * 2) : lines;
}

template <class Item, class Reader, class Answer>
void answer_lines(Reader& reader, LineReports& reports, const AnswerOptions& options, Answer answer) {
  size_t block = options.min_lines;
  for (bool more = true; more;) {
    std::vector<ReadLine<Item>> lines;
    std::exception_ptr error;
    try {
      size_t bytes = 0;
      while (options.before_wait && !reader.ready()) {
        options.before_wait();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      do {
        ReadLine<Item> line;
        more = read_line(reader, line, options.strict, reports);
        bytes += bytes_of(line.item);
        if (more) lines.push_back(std::move(line));
      } while (more && lines.size() < block && bytes < options.max_bytes && reader.ready());
    } catch (...) {
      error = std::current_exception();
    }
    const auto start = std::chrono::steady_clock::now();
    const bool full = lines.size() == block;
    answer_block(lines, reports, options.strict, answer);
    if (full) {
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      block = next_block_size(block, elapsed.count(), options);
    }
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace qkv::cli
