// Every line of an input answered in its order, as the lines come.
//
//     LineReader lines("-");
//     answer_lines<std::string>(lines, reports, {}, [&](const auto& read) {
//       for (const auto& line : read) out.print(line.item + "\n");
//     });
//
// A line that cannot be read is reported on stderr, "stdin:2: invalid UTF-8 at byte 7", and is to be answered by an
// empty line, so that answers keep the numbers of their lines; of more than ten of a kind, the first ten are
// reported, and their number at the end. Strict, the first one ends the command with exit code 1. What was read
// before an error of any kind is answered before it is thrown.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/output.h"
#include "qkv/text/corpus.h"

namespace qkv::cli {

// Messages about lines, the first ten of a kind.
class LineReports {
 public:
  void add(const std::string& kind, std::string_view message) {
    if (++counts_[kind] <= most) say(message);
  }
  void finish() const {  // "12 lines in all could not be read"
    for (const auto& [kind, count] : counts_)
      if (count > most) say(fmt::format("{} lines in all {}", count, kind));
  }

 private:
  static constexpr int64_t most = 10;
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
  size_t most_lines = 2048, most_bytes = size_t{1} << 24;  // answered at a time
};

inline size_t bytes_of(const std::string& line) { return line.size(); }
inline size_t bytes_of(const SentencePair& pair) { return pair.source.size() + pair.target.size(); }

// The next line into `line`, bad ones reported unless they are errors. False at the end.
template <class Item, class Reader>
bool read_line(Reader& reader, ReadLine<Item>& line, bool strict, LineReports& reports) {
  try {
    if (!reader.next(line.item)) return false;
  } catch (const LineError& e) {
    if (strict) throw;
    reports.add("could not be read and have an empty line for an answer",
                fmt::format("{}; its answer is an empty line", e.what()));
    line = {.bad = true};
  }
  line.where = reader.where();
  return true;
}

template <class Item, class Reader, class Answer>
void answer_lines(Reader& reader, LineReports& reports, const AnswerOptions& options, Answer answer) {
  for (bool more = true; more;) {
    std::vector<ReadLine<Item>> lines;
    std::exception_ptr error;
    try {
      size_t bytes = 0;
      do {
        ReadLine<Item> line;
        more = read_line(reader, line, options.strict, reports);
        bytes += bytes_of(line.item);
        if (more) lines.push_back(std::move(line));
      } while (more && lines.size() < options.most_lines && bytes < options.most_bytes && reader.ready());
    } catch (...) {
      error = std::current_exception();
    }
    if (!lines.empty()) answer(lines);
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace qkv::cli
