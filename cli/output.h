// Where a command's data goes: standard output, or a file that appears under its name only when it is complete, and is
// compressed if that ends in .gz or .zst. And where its messages go: standard error.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "qkv/base/file.h"
#include "qkv/text/compression.h"

namespace qkv::cli {

class Output {
 public:
  explicit Output(const std::string& path);  // "-": standard output
  void print(std::string_view text);
  void flush();
  void close();  // FileError if anything could not be written
  // The same, but under a name in the same folder that no file has: `path`, path.2, path.3, ... Returns that name.
  std::string close_beside(const std::string& path);

  bool is_file() const { return file_ != nullptr; }

 private:
  void finish_frame();

  std::unique_ptr<Compressor> compressor_;
  std::unique_ptr<FileWriter> file_;
};

// The compressor of a file of that name; none if it is to be written as it is.
std::unique_ptr<Compressor> compressor_for(const std::string& path);

// A line on stderr, with control characters made visible. Failures to write it are ignored; if there is no memory left to
// make it, it is "qkv: out of memory".
void say(std::string_view message) noexcept;

}  // namespace qkv::cli
