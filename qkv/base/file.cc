#include "qkv/base/file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "qkv/base/descriptor.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr size_t buffer_bytes = size_t{1} << 20;

[[noreturn]] void fail_reading(const fs::path& path, int error) { throw FileError("read", path.string(), error); }

// Opens for reading and fills in `status`.
Descriptor open_to_read(const fs::path& path, struct stat& status, int flags = 0) {
  Descriptor file(retried([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags); }));
  if (file < 0 || ::fstat(file, &status) != 0) fail_reading(path, errno);
  if (S_ISDIR(status.st_mode)) fail_reading(path, EISDIR);
  return file;
}

Descriptor open_regular(const fs::path& path, struct stat& status) {
  Descriptor file = open_to_read(path, status, O_NONBLOCK);  // does not block on a pipe
  require<InputError>(S_ISREG(status.st_mode), "read", "{}: not a regular file", path.string());
  return file;
}

std::string read_all(int file, const struct stat& status, const fs::path& path, size_t max_bytes) {
  const auto check_size = [&](size_t bytes) {
    require<InputError>(bytes <= max_bytes, "read", "{}: it has more than {} bytes", path.string(), max_bytes);
  };
  if (S_ISREG(status.st_mode)) check_size(static_cast<size_t>(status.st_size));
  // One byte more than the file has: the read that finds its end needs no second buffer. A pipe has no size.
  std::string bytes(S_ISREG(status.st_mode) ? static_cast<size_t>(status.st_size) + 1 : buffer_bytes, '\0');
  size_t used = 0;
  for (;;) {
    const ssize_t got = retried([&] { return ::read(file, bytes.data() + used, bytes.size() - used); });
    if (got < 0) fail_reading(path, errno);
    if (got == 0) break;
    used += static_cast<size_t>(got);
    check_size(used);
    if (used == bytes.size()) bytes.resize(2 * used);
  }
  bytes.resize(used);
  return bytes;
}

}  // namespace

FileError::FileError(std::string_view op, const std::string& file, int code)
    : InputError(op, fmt::format("{}: {}", file, std::strerror(code))), file_(file), code_(code) {}

FileError::FileError(int code, const std::string& file, std::string_view message)
    : InputError(file, message), file_(file), code_(code) {}

std::string read_file(const fs::path& path, size_t max_bytes) {
  struct stat status = {};
  const Descriptor file = open_regular(path, status);
  return read_all(file, status, path, max_bytes);
}

std::string read_file_or_pipe(const fs::path& path, size_t max_bytes) {
  struct stat status = {};
  const Descriptor file = open_to_read(path, status);
  return read_all(file, status, path, max_bytes);
}

void write_file(const fs::path& path, std::string_view bytes) {
  FileWriter file(path);
  file.write(bytes);
  file.commit();
}

bool file_exists(const fs::path& path) {
  std::error_code error;
  const bool there = fs::exists(path, error);
  if (error) throw FileError("read", path.string(), error.value());
  return there;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error))
    files.push_back(entry->path());
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
    throw FileError("read", folder.string(), error.value());
  return files;
}

RandomAccessFile::RandomAccessFile(const fs::path& path) : path_(path.string()) {
  struct stat status = {};
  Descriptor file = open_regular(path, status);
  size_ = status.st_size;
  file_ = file.release();
}

RandomAccessFile::~RandomAccessFile() { ::close(file_); }

void RandomAccessFile::read(int64_t begin, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got = retried([&] { return ::pread(file_, to.data(), to.size(), begin); });
    if (got < 0) fail_reading(path_, errno);
    require<InputError>(got > 0, "read", "{}: it ends at byte {}, but had {}", path_, begin, size_);
    begin += got;
    to = to.subspan(static_cast<size_t>(got));
  }
}

}  // namespace qkv
