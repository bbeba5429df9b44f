// Shards: a file of lines cut into K contiguous parts, one for each of K processes, without a pass over the file before.
//
//     ShardedFile file("corpus.txt.zst", {.count = 7, .index = 2});
//     LineReader lines(file.open(), file.name(), file.line_options());       // the lines of the third shard of seven
//
// Every line is in one shard, and the shards in their order are the file, so that outputs of a line for each line of input,
// concatenated, are the output of the whole file. With S bytes in the file, compressed or not, shard i has the bytes from
// floor(i S / K) to floor((i + 1) S / K), and a line belongs to the shard that has its first byte:
//   - A file that is not compressed is read from there: a shard costs what its own lines cost.
//   - A compressed file is read from its beginning and decompressed. The first byte of a line is then where the compressed
//     bytes end that its text was made of, of blocks of 4096: the position is that of the last byte of the block that was
//     being read when the first byte of the line came out. No second pass is needed and nothing is kept; a shard costs the
//     decompression of what precedes it. Blocks of zstd are up to 128 KiB, so a shard of a smaller file may have no lines.
//
// Two files, line by line, are cut where the lines of the first one are:
//
//     const LineRange lines = ShardedFile("corpus.en", shard).range();       // counted: this reads the first file
//     LineReader targets(open_line_range("corpus.de", lines), "corpus.de", {.is_part = true});
//
// `skip` leaves out the first lines of the shard, which are done. Errors: UsageError for a shard that is not one of its
// count; InputError for anything but a regular file, and for a file that is not text (file_kind.h).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "qkv/text/bytes.h"
#include "qkv/text/lines.h"

namespace qkv {

struct FileShard {
  int64_t count = 1, index = 0;  // index from 0
};
void check_shard(const FileShard& shard, const std::string& where);

struct LineRange {
  int64_t first = 0;  // lines before it
  int64_t count = std::numeric_limits<int64_t>::max();
};

class ShardedFile {
 public:
  ShardedFile(const std::string& path, const FileShard& shard, int64_t skip = 0);

  std::unique_ptr<ByteSource> open() const;
  std::string name() const;  // "corpus.txt", or "corpus.txt, shard 2 of 7"
  LineOptions line_options() const;
  LineRange range() const;  // the lines that open() gives, in the file
  int64_t file_bytes() const { return size_; }

 private:
  void look_at_beginning();
  std::unique_ptr<ByteSource> open_plain(int64_t begin, int64_t end) const;

  std::string path_;
  FileShard shard_;
  int64_t skip_, size_ = 0, begin_ = 0, end_ = 0;  // begin_, end_: of lines, or of compressed bytes
  bool compressed_ = false, one_line_ = false;
};

// The bytes of some of the lines of a file, which is read from its beginning.
std::unique_ptr<ByteSource> open_line_range(const std::string& path, const LineRange& range);

}  // namespace qkv
