// Where a command's data goes: standard output, or a file that appears under its name only when it is whole. And
// where its messages go: standard error.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "qkv/base/file.h"

namespace qkv::cli {

class Output {
 public:
  explicit Output(const std::string& path);  // "-": standard output
  void print(std::string_view text);
  void flush();
  void close();  // FileError if anything could not be written

 private:
  std::unique_ptr<FileWriter> file_;
};

// A line on stderr, control characters in it made visible. That nobody can read it is no reason to stop.
void say(std::string_view message);

}  // namespace qkv::cli
