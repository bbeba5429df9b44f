#include "cli/output.h"

#include <cerrno>
#include <cstdio>
#include <new>

#include "qkv/text/utf8.h"

namespace qkv::cli {
namespace {

[[noreturn]] void fail_writing() { throw FileError("write", "standard output", errno); }

}  // namespace

Output::Output(const std::string& path) {
  if (path == "-") return;
  compressor_ = compressor_for(path);
  file_ = std::make_unique<FileWriter>(path);
}

void Output::print(std::string_view text) {
  if (compressor_) return file_->write(compressor_->compress(text));
  if (file_) return file_->write(text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail_writing();
}

void Output::flush() {
  if (!file_ && std::fflush(stdout) != 0) fail_writing();
}

void Output::close() {
  flush();
  finish_frame();
  if (file_) file_->commit();
}

std::string Output::close_beside(const std::string& path) {
  finish_frame();
  if (file_) return file_->commit_beside(path).string();
  flush();
  return path;
}

void Output::finish_frame() {
  if (compressor_) file_->write(compressor_->finish());
}

std::unique_ptr<Compressor> compressor_for(const std::string& path) {
  const Compression kind = compression_named(path);
  return kind == Compression::none ? nullptr : make_compressor(kind, path);
}

void say(std::string_view message) noexcept {
  try {
    std::fputs((escape_controls(message) + "\n").c_str(), stderr);
  } catch (const std::bad_alloc&) {
    std::fputs("qkv: out of memory\n", stderr);
  }
}

}  // namespace qkv::cli
