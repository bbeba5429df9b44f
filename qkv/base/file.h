// Files: read whole or in places, and written so that a reader never sees half of one.
//
//     std::string text = read_file("config.json");
//     write_file("config.json", text);                   // replaces the old file, or leaves it untouched
//     RandomAccessFile("model.safetensors").read(at, bytes);
//
// A file is written to a temporary name in the same folder, forced to the disk, and renamed over its target:
// whatever goes wrong on the way (a full disk, an unwritable folder, a crash), the old file is still there, whole.
// Every failure is a FileError that names the file and the system's reason: "write: out/config.json: No space left
// on device". A target that is a link is followed; one that is a device or a pipe is written directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// write_file() in pieces. Nothing has happened to the target until commit() returns; a writer that goes away
// without it removes its temporary file.
class FileWriter {
 public:
  explicit FileWriter(const std::filesystem::path& path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(std::string_view bytes);
  void commit();
  void commit_as(const std::filesystem::path& path);  // under another name in the same folder

 private:
  void flush();
  void check(bool ok);  // else an InputError with the reason in errno
  void abandon();

  std::filesystem::path path_, target_, temporary_;  // as given, links followed, and empty when written directly
  std::string buffer_;
  int file_ = -1;
};

// Whether there is something of that name, and what there is in a folder; nothing in one that is not there. A name
// that cannot be looked up is a FileError: it may well be there.
bool file_exists(const std::filesystem::path& path);
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder);

// Removes temporary files in a folder whose writers were killed. A
// FileWriter does so for its own target.
void remove_abandoned_files(const std::filesystem::path& folder);

// Renames a file over another one; copies it where that is on another disk.
void move_file(const std::filesystem::path& from, const std::filesystem::path& to);

// Forces the names in a folder to the disk, where the file system can do that.
void force_folder(const std::filesystem::path& folder);

// A regular file that stays open, to be read at any place by any thread. Nothing of it is mapped into memory: a
// file that another program shortens meanwhile is an InputError.
class RandomAccessFile {
 public:
  explicit RandomAccessFile(const std::filesystem::path& path);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  int64_t size() const { return size_; }
  void read(int64_t begin, std::span<std::byte> to) const;  // all of `to`, or an InputError

 private:
  std::string path_;
  int file_;
  int64_t size_;
};

}  // namespace qkv
