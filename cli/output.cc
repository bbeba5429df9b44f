#include "cli/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "qkv/base/error.h"

namespace qkv::cli {

Output::Output(const std::string& path) {
  if (path != "-") file_ = std::make_unique<FileWriter>(path);
}

void Output::print(std::string_view text) {
  if (file_) return file_->write(text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    fail<InputError>("standard output", "{}", std::strerror(errno));
}

void Output::flush() {
  if (!file_ && std::fflush(stdout) != 0) fail<InputError>("standard output", "{}", std::strerror(errno));
}

void Output::close() {
  flush();
  if (file_) file_->commit();
}

}  // namespace qkv::cli
