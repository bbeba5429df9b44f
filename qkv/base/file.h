// Files: read as a whole or in parts, and written so that a reader never sees a partial one.
//
//     std::string text = read_file("config.json");
//     write_file("config.json", text);                   // replaces the old file, or leaves it untouched
//     RandomAccessFile("model.safetensors").read(at, bytes);
//
// A file is written to a temporary name in the same folder, synced to disk, and renamed over its target: after any
// failure (a full disk, an unwritable folder, a crash) the old file is unchanged.
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

// A file or folder that cannot be opened, read or written. code() is the errno.
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

// A file of more than `max_bytes` is an InputError, before the memory is allocated, and so is one that is not a regular
// file: a pipe may be silent for ever, a device endless.
std::string read_file(const std::filesystem::path& path, size_t max_bytes = std::numeric_limits<size_t>::max());
// The same of a file that may also be a pipe or a device.
std::string read_file_or_pipe(const std::filesystem::path& path, size_t max_bytes);
void write_file(const std::filesystem::path& path, std::string_view bytes);

// write_file() in pieces. The target does not change until commit(); a writer destroyed without it removes its
// temporary file.
class FileWriter {
 public:
  explicit FileWriter(const std::filesystem::path& path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(std::string_view bytes);
  void commit();
  // Under another name in the same folder, which no file has: `path`, path.2, path.3, ... Returns that name.
  std::filesystem::path commit_beside(const std::filesystem::path& path);

 private:
  void sync();
  void finish();
  void flush();
  void check(bool ok);  // throws a FileError with the errno
  void abandon();

  std::filesystem::path path_, target_, temporary_;  // as given, links followed, and empty when written directly
  std::string buffer_;
  int file_ = -1;
};

// Whether a file of that name exists, and the files in a folder; none if the folder does not exist. A name that cannot
// be looked up is a FileError, because the file may exist.
bool file_exists(const std::filesystem::path& path);
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder);

// Removes the temporary files of killed writers in a folder. A FileWriter does so for its own target.
void remove_abandoned_files(const std::filesystem::path& folder);

// Renames a file over another one; copies it if that is on another disk.
void move_file(const std::filesystem::path& from, const std::filesystem::path& to);

// Syncs a folder to disk, if the file system supports it.
void force_folder(const std::filesystem::path& folder);

// A regular file that stays open, to be read at any offset by any thread. If another program truncates it, reading is an
// InputError, and not a signal as with file_mapping.h.
class RandomAccessFile {
 public:
  explicit RandomAccessFile(const std::filesystem::path& path);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  int64_t size() const { return size_; }
  int descriptor() const { return file_; }
  void read(int64_t begin, std::span<std::byte> to) const;  // all of `to`, or an InputError

 private:
  std::string path_;
  int file_;
  int64_t size_;
};

}  // namespace qkv
