// Files that are read several times and give the same bytes every time.
//
//     const auto files = open_repeatable({"train.en", "-"});         // or a named pipe, or <(zcat a.gz)
//     auto first = files[1].open(), second = files[1].open();        // ByteSources, each from the beginning
//
// A regular file is kept open: one that is replaced in the meantime (by a rename) is read as it was, and one that is
// changed in place is an InputError in the pass that detects it. Anything else can be read only once: it is copied
// to an unnamed temporary file in TMPDIR, or /tmp. Several files are copied concurrently, so that one program may
// write to all of them in turn. Errors: UsageError when two of the paths are the same pipe or terminal; FileError
// for a file that cannot be opened, read or copied.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "qkv/text/bytes.h"

namespace qkv {

class RepeatableFile {
 public:
  std::unique_ptr<ByteSource> open() const;  // decompressed if it is gzip or zstd; may outlive this object
  const std::string& name() const;

  struct Opened;
  explicit RepeatableFile(std::shared_ptr<const Opened> opened) : opened_(std::move(opened)) {}

 private:
  std::shared_ptr<const Opened> opened_;
};

std::vector<RepeatableFile> open_repeatable(const std::vector<std::string>& paths);

// UsageError when both paths ("-": standard input) are the same pipe or terminal.
void check_distinct_streams(const std::string& a, const std::string& b);

}  // namespace qkv
