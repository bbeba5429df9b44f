#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "qkv/base/descriptor.h"
#include "qkv/base/file.h"
#include "qkv/base/temporary_file.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr size_t writer_buffer_bytes = size_t{1} << 20;

// Renames a file if no other one has the new name; false with an errno, EEXIST if one has.
bool take_name(const fs::path& from, const fs::path& to) {
  if (::link(from.c_str(), to.c_str()) == 0) {
    ::unlink(from.c_str());
    return true;
  }
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return false;  // file systems without links
  struct stat status = {};
  if (::lstat(to.c_str(), &status) == 0) {
    errno = EEXIST;
    return false;
  }
  return errno == ENOENT && ::rename(from.c_str(), to.c_str()) == 0;
}

}  // namespace

FileWriter::FileWriter(const fs::path& path) : path_(path), target_(path) {
  struct stat status = {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  check(exists || errno == ENOENT || errno == ENOTDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    file_ = retried([&] { return ::open(path.c_str(), O_WRONLY | O_CLOEXEC); });
    check(file_ >= 0);  // fails for a folder
    return;
  }
  struct stat link = {};
  check(!exists || ::lstat(path.c_str(), &link) == 0);
  if (S_ISLNK(link.st_mode)) target_ = fs::canonical(path);
  if (exists) check(::access(path.c_str(), W_OK) == 0);  // rename() does not check the permissions of the target
  remove_abandoned(target_);
  const TemporaryFile temporary(target_);
  file_ = temporary.descriptor;
  check(file_ >= 0);
  temporary_ = temporary.path;
  if (exists) ::fchmod(file_, status.st_mode & 0777);  // the permissions of the old file, if possible
}

FileWriter::~FileWriter() { abandon(); }

void FileWriter::write(std::string_view bytes) {
  require(file_ >= 0, "write", "{}: the file was committed already", path_.string());
  while (!bytes.empty()) {
    const size_t take = std::min(bytes.size(), writer_buffer_bytes - buffer_.size());
    buffer_.append(bytes.substr(0, take));
    bytes.remove_prefix(take);
    if (buffer_.size() == writer_buffer_bytes) flush();
  }
}

void FileWriter::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t wrote = retried([&] { return ::write(file_, rest.data(), rest.size()); });
    check(wrote >= 0);
    rest.remove_prefix(static_cast<size_t>(wrote));
  }
  buffer_.clear();
}

void FileWriter::commit() {
  sync();
  if (!temporary_.empty()) check(::rename(temporary_.c_str(), target_.c_str()) == 0);  // while it is locked
  finish();
}

fs::path FileWriter::commit_beside(const fs::path& path) {
  sync();
  if (temporary_.empty()) {
    finish();
    return path_;
  }
  fs::path name = path;
  for (int number = 2; !take_name(temporary_, name); ++number) {
    path_ = name;
    check(errno == EEXIST);
    name = fs::path(path) += fmt::format(".{}", number);
  }
  path_ = target_ = name;
  finish();
  return name;
}

void FileWriter::sync() {
  require(file_ >= 0, "write", "{}: the file was committed already", path_.string());
  flush();
  if (!temporary_.empty()) check(retried([&] { return ::fsync(file_); }) == 0);
}

void FileWriter::finish() {
  const int closed = ::close(std::exchange(file_, -1));
  if (temporary_.empty()) return check(closed == 0);  // of the others, errors were reported by fsync()
  temporary_.clear();
  // The new name must survive a power cut too.
  force_folder(target_.has_parent_path() ? target_.parent_path() : fs::path("."));
}

void FileWriter::check(bool ok) {
  if (ok) return;
  const int error = errno;
  abandon();
  throw FileError("write", path_.string(), error);
}

void FileWriter::abandon() {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void force_folder(const fs::path& folder) {
  const Descriptor handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle >= 0) ::fsync(handle);  // not supported by some network file systems: errors are ignored
}

void move_file(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return;
  if (errno != EXDEV) throw FileError("write", to.string(), errno);
  const RandomAccessFile source(from);
  FileWriter copy(to);
  std::string bytes;
  for (int64_t at = 0; at < source.size(); at += static_cast<int64_t>(bytes.size())) {
    bytes.resize(static_cast<size_t>(std::min<int64_t>(source.size() - at, writer_buffer_bytes)));
    source.read(at, std::as_writable_bytes(std::span(bytes)));
    copy.write(bytes);
  }
  copy.commit();
  ::unlink(from.c_str());
}

}  // namespace qkv
