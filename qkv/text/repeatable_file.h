// Files that are read several times and give the same bytes every time.
//
//     const auto files = open_repeatable({"train.en", "-"});     // or a named pipe, or what <(zcat a.gz) stands
//     for auto once = files[1].open(), again = files[1].open();      // ByteSources, each from the beginning
//
// A regular file is kept open: one that is replaced meanwhile (another renamed over it) is read as it was, and one
// that is changed in place is an InputError in the pass that meets the change. Anything else can be read only once:
// it is copied as it is into a temporary file without a name, in the folder TMPDIR, or /tmp. Several are copied
// side by side, so that one program may write to all of them in turn. Errors: UsageError when two of the paths are
// the same pipe or terminal; FileError for a file that cannot be opened, read or copied.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "qkv/text/bytes.h"

namespace qkv {

class RepeatableFile {
 public:
  std::unique_ptr<ByteSource> open() const;  // inflated if it is gzip; outlives this object
  const std::string& name() const;

  struct Opened;
  explicit RepeatableFile(std::shared_ptr<const Opened> opened) : opened_(std::move(opened)) {}

 private:
  std::shared_ptr<const Opened> opened_;
};

std::vector<RepeatableFile> open_repeatable(const std::vector<std::string>& paths);

// A UsageError when both paths ("-": standard input) are the same thing, and it can be read only once.
void check_distinct_streams(const std::string& a, const std::string& b);

}  // namespace qkv
