// Bytes from a file, standard input or a stream; gzip and zstd are recognised by their first bytes and decompressed.
//
//     auto bytes = open_bytes("corpus.tsv.gz");       // "-" is standard input
//     size_t n = bytes->read(buffer, sizeof buffer);  // 0 at the end
//
// read() returns as soon as any bytes are available, without waiting for a full block of a pipe or terminal. A
// compressed file may have several frames (concatenated files; gzip calls them members). Every failure is an InputError
// that names the file: it cannot be opened, is a folder, is truncated or corrupt, or is zstd and qkv was built without
// libzstd (compression.h). To read a file several times use repeatable_file.h.
#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <string>

namespace qkv {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual size_t read(char* to, size_t size) = 0;  // at most `size` bytes, size >= 1
  virtual bool ready() = 0;                        // read() would not block
};

std::unique_ptr<ByteSource> open_bytes(const std::string& path);
// The stream must outlive the source; `name` stands for it in errors.
std::unique_ptr<ByteSource> open_bytes(std::istream& stream, const std::string& name);
// The bytes of a text, at most `piece` at a time, as from a pipe.
std::unique_ptr<ByteSource> string_bytes(std::string text, size_t piece = std::string::npos);
// The bytes of the source, decompressed if it begins like gzip or zstd.
std::unique_ptr<ByteSource> inflated(std::unique_ptr<ByteSource> source, const std::string& name);

}  // namespace qkv
