// Files: read whole, mapped into memory, and written so that a reader never sees half of one.
//
//     std::string text = read_file("config.json");
//     write_file("config.json", text);                   // replaces the old file, or leaves it untouched
//     auto map = MappedFile::open("model.safetensors");   // map->bytes(), read-only, as long as the map lives
//
// A file is written to a temporary name in the same folder, forced to the disk, and renamed over its target:
// whatever goes wrong on the way (a full disk, an unwritable folder, a crash), the old file is still there, whole.
// Every failure is a FileError that names the file and the system's reason: "write: out/config.json: No space left
// on device". A target that is a link is followed; one that is a device or a pipe is written directly.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "qkv/base/error.h"

namespace qkv {

// A file or folder that cannot be had. code() is the number of the system's reason: errno.
class FileError : public InputError {
 public:
  FileError(std::string_view op, const std::string& file, int code);       // "op: file: what the system says"
  FileError(int code, const std::string& file, std::string_view message);  // "file: message"
  const std::string& file() const { return file_; }
  int code() const { return code_; }

 private:
  std::string file_;
  int code_;
};

// InputError for a file of more than `most` bytes, before so much memory is taken; a device may have no end.
std::string read_file(const std::filesystem::path& path, size_t most = std::numeric_limits<size_t>::max());
void write_file(const std::filesystem::path& path, std::string_view bytes);

// The same, in pieces. Nothing has happened to the target until commit() returns; a writer that goes away without
// it removes its temporary file.
class FileWriter {
 public:
  explicit FileWriter(const std::filesystem::path& path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(std::string_view bytes);
  void commit();

 private:
  void flush();
  void check(bool ok);  // else an InputError with the reason in errno
  void abandon();

  std::filesystem::path path_, target_, temporary_;  // as given, links followed, and empty when written directly
  std::string buffer_;
  int file_ = -1;
};

// A file seen as memory, read-only. Files that this library writes are replaced, never rewritten, so a map of one
// stays valid; a file that another program shortens while it is mapped is a bus error, as for every map.
class MappedFile {
 public:
  static std::shared_ptr<MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}

  const std::byte* data_;
  size_t size_;
};

}  // namespace qkv
