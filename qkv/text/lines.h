// Lines of text, one at a time, from a file (plain or gzip), from standard input ("-") or from a stream.
//
//     LineReader lines("corpus.tsv.gz");
//     for (std::string line; lines.next(line);)
//       if (line.empty()) fail<InputError>(lines.where(), "an empty line");     // "corpus.tsv.gz:17: an empty
//       line"
//
// A line ends with LF or CR LF, which are not part of it; the last one may end with the file. A byte order mark at
// the very beginning is dropped. A line that is too long, not UTF-8, or has a NUL byte is an InputError that names
// file and line. What is typed or piped comes line by line, as soon as a line is whole.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "qkv/text/bytes.h"

namespace qkv {

struct LineOptions {
  int64_t max_bytes = 1'000'000;  // a line of as many bytes or more is an error
  bool check_text = true;         // UTF-8 without NUL; else any bytes are a line
};

class LineReader {
 public:
  explicit LineReader(const std::string& path, const LineOptions& options = {});
  LineReader(std::istream& stream, const std::string& name, const LineOptions& options = {});

  bool next(std::string& line);               // false at the end
  bool has_line() const;                      // a whole line has been read ahead: next() will not wait
  int64_t number() const { return number_; }  // of the last line read, counted from 1; 0 before the first
  const std::string& name() const { return name_; }
  std::string where() const;  // "corpus.tsv:17", of the last line read

 private:
  bool take(std::string& line);  // up to the next LF or the end
  void check(const std::string& line) const;

  std::string name_;
  LineOptions options_;
  std::unique_ptr<ByteSource> bytes_;
  std::vector<char> buffer_ = std::vector<char>(1 << 16);
  size_t begin_ = 0, end_ = 0;
  int64_t number_ = 0;
};

}  // namespace qkv
