// Lines of text, one at a time, from a file (plain or gzip), from standard input ("-") or from a stream.
//
//     LineReader lines("corpus.tsv.gz");
//     for (std::string line; lines.next(line);)
//       if (line.empty()) fail<InputError>(lines.where(), "an empty line");     // corpus.tsv.gz:17: an empty line
//
// A line ends with LF or CR LF, which are not part of it; the last one may end with the file. A byte order mark at
// the very beginning is dropped. What is typed or piped comes line by line, as soon as a line is whole.
//
// A line that is too long, not UTF-8, or has a NUL byte is a LineError, an InputError that names file and line, and
// next() goes on behind it. So is a whole file whose lines end with CR alone (as on Macs before 2001): it would be
// taken for one line. Of a line that is too long at most 1 GiB is passed over: more without a line feed is no text,
// and an InputError.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "qkv/base/error.h"
#include "qkv/text/bytes.h"

namespace qkv {

// One line is bad; what stands behind it can still be read.
class LineError : public InputError {
  using InputError::InputError;
};

struct LineOptions {
  int64_t max_bytes = 1'000'000;  // a line of as many bytes or more is an error
  bool check_text = true;         // UTF-8 without NUL; else any bytes are a line
};

class LineReader {
 public:
  explicit LineReader(const std::string& path, const LineOptions& options = {});
  LineReader(std::istream& stream, const std::string& name, const LineOptions& options = {});
  LineReader(std::unique_ptr<ByteSource> bytes, const std::string& name, const LineOptions& options = {});

  bool next(std::string& line);               // false at the end
  bool ready();                               // next() would not wait: a line is whole, or there are no more
  int64_t number() const { return number_; }  // of the last line read, counted from 1; 0 before the first
  const std::string& name() const { return name_; }
  std::string where() const;  // "corpus.tsv:17", of the last line read

 private:
  bool gather(bool wait);
  void skip(size_t bytes);
  void check(const std::string& line) const;

  std::string name_;
  LineOptions options_;
  std::unique_ptr<ByteSource> bytes_;
  std::vector<char> buffer_ = std::vector<char>(1 << 16);
  size_t begin_ = 0, end_ = 0;  // of what was read and belongs to no line yet
  std::string line_;            // the next line, as far as it was read
  bool whole_ = false;          // there is no more of it
  bool too_long_ = false;
  bool skipping_ = false;  // the rest of a line that is too long
  size_t skipped_ = 0;
  bool ended_ = false;  // there are no more bytes
  int64_t number_ = 0;
};

}  // namespace qkv
