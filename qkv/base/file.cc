#include "qkv/base/file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr size_t buffer_bytes = size_t{1} << 20;

// Calls a system function again when a signal interrupted it.
template <class Call>
auto retried(Call call) {
  decltype(call()) result;
  do result = call();
  while (result < 0 && errno == EINTR);
  return result;
}

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  ~Descriptor() {
    if (file_ >= 0) ::close(file_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return file_; }

 private:
  int file_;
};

[[noreturn]] void fail_reading(const fs::path& path, int error) { throw FileError("read", path.string(), error); }

// Opened for reading, and what it is.
Descriptor open_to_read(const fs::path& path, struct stat& status) {
  const int file = retried([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (file < 0) fail_reading(path, errno);
  if (::fstat(file, &status) != 0 || S_ISDIR(status.st_mode)) {
    const int error = S_ISDIR(status.st_mode) ? EISDIR : errno;
    ::close(file);
    fail_reading(path, error);
  }
  return Descriptor(file);
}

// A name beside the target that no other writer uses: TARGET.PROCESS-NUMBER.tmp.
fs::path temporary_name(const fs::path& target) {
  static std::atomic<unsigned> counter{0};
  return fmt::format("{}.{}-{}.tmp", target.string(), ::getpid(), counter.fetch_add(1));
}

// Removes what writers of this target left behind when they were killed: temporary files of processes that are
// gone.
void remove_abandoned(const fs::path& target) {
  const std::string prefix = target.filename().string() + ".";
  std::error_code ignored;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(target.has_parent_path() ? target.parent_path() : ".", ignored)) {
    const std::string name = entry.path().filename().string();
    long process = 0;
    unsigned number = 0;
    int end = 0;
    if (!name.starts_with(prefix)) continue;
    const char* rest = name.c_str() + prefix.size();
    if (std::sscanf(rest, "%ld-%u.tmp%n", &process, &number, &end) != 2 || end == 0 || rest[end] != '\0') continue;
    if (process > 0 && ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH)
      fs::remove(entry.path(), ignored);
  }
}

}  // namespace

FileError::FileError(std::string_view op, const std::string& file, int code)
    : InputError(op, fmt::format("{}: {}", file, std::strerror(code))), file_(file), code_(code) {}

FileError::FileError(int code, const std::string& file, std::string_view message)
    : InputError(file, message), file_(file), code_(code) {}

std::string read_file(const fs::path& path, size_t most) {
  struct stat status = {};
  const Descriptor file = open_to_read(path, status);
  const auto check_size = [&](size_t bytes) {
    require<InputError>(bytes <= most, "read", "{}: it has more than {} bytes", path.string(), most);
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

void write_file(const fs::path& path, std::string_view bytes) {
  FileWriter file(path);
  file.write(bytes);
  file.commit();
}

FileWriter::FileWriter(const fs::path& path) : path_(path), target_(path) {
  struct stat status = {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    file_ = retried([&] { return ::open(path.c_str(), O_WRONLY | O_CLOEXEC); });
    check(file_ >= 0);  // a folder ends here
    return;
  }
  if (std::error_code error; exists && fs::is_symlink(path, error)) target_ = fs::canonical(path, error);
  if (exists) check(::access(path.c_str(), W_OK) == 0);  // a rename would not ask
  remove_abandoned(target_);
  temporary_ = temporary_name(target_);
  file_ = retried([&] { return ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666); });
  check(file_ >= 0);
  if (exists) ::fchmod(file_, status.st_mode & 0777);  // as it was, where the system lets us
}

FileWriter::~FileWriter() { abandon(); }

void FileWriter::write(std::string_view bytes) {
  require(file_ >= 0, "write", "{}: the file was committed already", path_.string());
  while (!bytes.empty()) {
    const size_t take = std::min(bytes.size(), buffer_bytes - buffer_.size());
    buffer_.append(bytes.substr(0, take));
    bytes.remove_prefix(take);
    if (buffer_.size() == buffer_bytes) flush();
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
  require(file_ >= 0, "write", "{}: the file was committed already", path_.string());
  flush();
  if (!temporary_.empty()) check(retried([&] { return ::fsync(file_); }) == 0);
  check(::close(std::exchange(file_, -1)) == 0);
  if (temporary_.empty()) return;
  check(::rename(temporary_.c_str(), target_.c_str()) == 0);
  temporary_.clear();
  // The new name must survive a power cut too. The file is in place by now: a folder that cannot be
  // forced to the disk (some network file systems) is no failure.
  const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  const Descriptor handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle >= 0) ::fsync(handle);
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

std::shared_ptr<MappedFile> MappedFile::open(const fs::path& path) {
  struct stat status = {};
  const Descriptor file = open_to_read(path, status);
  require<InputError>(S_ISREG(status.st_mode), "read", "{}: not a regular file", path.string());
  const size_t size = static_cast<size_t>(status.st_size);
  void* data = nullptr;
  if (size > 0) {  // an empty map is an error of its own
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) fail_reading(path, errno);
  }
  return std::shared_ptr<MappedFile>(new MappedFile(static_cast<const std::byte*>(data), size));
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace qkv
