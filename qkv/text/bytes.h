// Bytes from a file, standard input or a stream, one after the other; gzip is recognised by its first two bytes and
// undone.
//
//     auto bytes = open_bytes("corpus.tsv.gz");       // "-" is standard input
//     size_t n = bytes->read(buffer, sizeof buffer);  // 0 at the end
//
// read() returns as soon as there is anything: what is typed or piped is not waited for in blocks. A gzip file may
// have several members (files put one after the other). Every failure is an InputError that names the file: it
// cannot be opened, is a folder, is truncated or corrupt gzip. What is to be read more than once is a
// RepeatableFile (repeatable_file.h).
#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <string>

namespace qkv {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual size_t read(char* to, size_t most) = 0;  // most >= 1
  virtual bool ready() = 0;                        // read() would not wait for whoever writes
};

std::unique_ptr<ByteSource> open_bytes(const std::string& path);
// The stream must outlive the source; name is what errors call it.
std::unique_ptr<ByteSource> open_bytes(std::istream& stream, const std::string& name);
// What the source gives, inflated if it begins as gzip does.
std::unique_ptr<ByteSource> inflated(std::unique_ptr<ByteSource> source, const std::string& name);

}  // namespace qkv
