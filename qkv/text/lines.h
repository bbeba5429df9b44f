// Lines of text, one at a time, from a file (plain, gzip or zstd), from standard input ("-") or from a stream.
//
//     LineReader lines("corpus.tsv.gz");
//     for (std::string line; lines.next(line);)
//       if (line.empty()) fail<InputError>(lines.where(), "an empty line");     // corpus.tsv.gz:17: an empty line
//
// A line ends with LF or CR LF, which are not part of it; the last one may end with the file. A byte order mark at
// the beginning is dropped. Lines from a pipe or terminal are returned as soon as they are complete.
//
// A file that is not text but of a known kind (file_kind.h: UTF-16, zip, xlsx, ...) is an InputError that names it.
// A line that is too long, not UTF-8, or has a NUL byte is a LineError, an InputError that names file and line;
// next() then continues with the line after it. So is a file whose lines end with CR alone (as on Macs before 2001):
// it would be read as one line. At most 1 GiB of a line that is too long is skipped; more without a line feed is an
// InputError.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/base/error.h"
#include "qkv/text/bytes.h"

namespace qkv {

// A bad line; the lines after it can still be read.
class LineError : public InputError {
  using InputError::InputError;
};
// Of a line that was to be a pair.
class NoTabError : public LineError {
  using LineError::LineError;
};

inline constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

struct LineOptions {
  int64_t max_bytes = 1'000'000;  // a line of this size or more is an error
  bool check_text = true;         // require UTF-8 without NUL
  // Of a part of a file (shard.h): the first line is not the first one of the file, which may have a byte order mark and
  // tells its kind; it is one of several, so that line ends are line feeds, not those of old Macs.
  bool is_part = false, is_one_of_many = false;
  int64_t before = 0;  // the lines before the first one, for their numbers
};

class LineReader {
 public:
  explicit LineReader(const std::string& path, const LineOptions& options = {});
  LineReader(std::istream& stream, const std::string& name, const LineOptions& options = {});
  LineReader(std::unique_ptr<ByteSource> bytes, const std::string& name, const LineOptions& options = {});

  bool next(std::string& line);               // false at the end
  bool ready();                               // next() would not block: a line is complete, or none follows
  int64_t number() const { return number_; }  // of the last line read, from 1; LineOptions::before before the first
  const std::string& name() const { return name_; }
  std::string where() const;  // "corpus.tsv:17", of the last line read

 private:
  bool gather(bool wait);
  void skip(size_t bytes);
  void check_kind();
  void check(const std::string& line) const;
  bool begins_file() const { return number_ == 1 && !options_.is_part; }

  std::string name_;
  LineOptions options_;
  std::unique_ptr<ByteSource> bytes_;
  std::vector<char> buffer_ = std::vector<char>(1 << 16);
  size_t begin_ = 0, end_ = 0;  // of the unused part of buffer_
  std::string first_bytes_;     // of the file, as far as it was read
  bool kind_known_ = false;     // from these: a pipe may have given fewer than the kind needs
  std::string line_;            // the next line, as far as it was read
  bool complete_ = false;       // line_ is
  bool too_long_ = false;
  bool skipping_ = false;  // the rest of a line that is too long
  size_t skipped_ = 0;
  bool ended_ = false;  // end of file
  int64_t number_ = 0;
};

}  // namespace qkv
