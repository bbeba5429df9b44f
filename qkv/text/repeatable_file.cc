#include "qkv/text/repeatable_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "qkv/base/file.h"

namespace qkv {

struct RepeatableFile::Opened {
  explicit Opened(std::string name_) : name(std::move(name_)) {}
  ~Opened() {
    if (file >= 0) ::close(file);
    if (stream >= 0) ::close(stream);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  std::string name;
  int file = -1;    // read by the passes
  int stream = -1;  // copied into it
  off_t begin = 0, size = 0;
  struct timespec modified = {};
};

namespace {

using Opened = RepeatableFile::Opened;

// One pass: an offset of its own in a file that other passes read, too.
class FilePass final : public ByteSource {
 public:
  explicit FilePass(std::shared_ptr<const Opened> opened) : opened_(std::move(opened)), at_(opened_->begin) {}

  size_t read(char* to, size_t size) override {
    ssize_t n;
    do n = ::pread(opened_->file, to, size, at_);
    while (n < 0 && errno == EINTR);
    if (n < 0) throw FileError("read", opened_->name, errno);
    check_unchanged();
    at_ += n;
    return static_cast<size_t>(n);
  }

  bool ready() override { return true; }

 private:
  void check_unchanged() const {
    struct stat now = {};
    if (::fstat(opened_->file, &now) != 0) throw FileError("read", opened_->name, errno);
    require<InputError>(now.st_size == opened_->size && now.st_mtim.tv_sec == opened_->modified.tv_sec &&
                            now.st_mtim.tv_nsec == opened_->modified.tv_nsec,
                        opened_->name, "this file was changed while it was read: {} bytes before, {} now",
                        opened_->size, now.st_size);
  }

  std::shared_ptr<const Opened> opened_;
  off_t at_;
};

struct stat status_of(const Opened& opened) {
  struct stat status = {};
  if (::fstat(opened.file, &status) != 0) throw FileError("read", opened.name, errno);
  return status;
}

void remember(Opened& opened) {
  const struct stat status = status_of(opened);
  opened.size = status.st_size;
  opened.modified = status.st_mtim;
}

// Without waiting for a writer: two named pipes may be opened by one program, in either order.
std::shared_ptr<Opened> open_file(const std::string& path) {
  auto opened = std::make_shared<Opened>(path == "-" ? "stdin" : path);
  opened->file = path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                             : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened->file < 0) throw FileError("read", opened->name, errno);
  return opened;
}

// A file without a name: removed with its descriptor, however the process ends.
int temporary_file(const std::string& folder) {
  std::string path = folder + "/qkv-XXXXXX";
  const int file = ::mkostemp(path.data(), O_CLOEXEC);
  if (file < 0)
    throw FileError(
        errno, folder,
        fmt::format("no temporary file can be made here: {} (TMPDIR names another folder)", std::strerror(errno)));
  ::unlink(path.c_str());
  return file;
}

// Copies the bytes available in the stream. False at its end.
bool copy_some(const Opened& copy, const std::string& folder, std::vector<char>& buffer) {
  const ssize_t n = ::read(copy.stream, buffer.data(), buffer.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (n < 0) throw FileError("read", copy.name, errno);
  for (ssize_t done = 0; done < n;) {
    const ssize_t wrote = ::write(copy.file, buffer.data() + done, static_cast<size_t>(n - done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0)
      throw FileError(errno, copy.name,
                      fmt::format("it must be copied to {}, to be read several times: {} (TMPDIR names another "
                                  "folder)",
                                  folder, std::strerror(errno)));
    done += wrote;
  }
  return n > 0;
}

// Standard input is shared with other processes: it is polled, not made non-blocking.
void copy_streams(std::vector<Opened*> streams) {
  const char* wanted = std::getenv("TMPDIR");
  const std::string folder = wanted && *wanted ? wanted : "/tmp";
  for (Opened* opened : streams) opened->stream = std::exchange(opened->file, temporary_file(folder));
  std::vector<char> buffer(1 << 16);
  while (!streams.empty()) {
    std::vector<pollfd> waiting;
    waiting.reserve(streams.size());
    for (const Opened* opened : streams) waiting.push_back({.fd = opened->stream, .events = POLLIN, .revents = 0});
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR)
      throw FileError("read", streams.front()->name, errno);
    for (size_t i = streams.size(); i-- > 0;) {
      if (waiting[i].revents == 0 || copy_some(*streams[i], folder, buffer)) continue;
      ::close(std::exchange(streams[i]->stream, -1));
      streams.erase(streams.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status = {};
  const int failed = path == "-" ? ::fstat(STDIN_FILENO, &status) : ::stat(path.c_str(), &status);
  if (failed) return {};
  return status;
}

}  // namespace

std::unique_ptr<ByteSource> RepeatableFile::open() const {
  return inflated(std::make_unique<FilePass>(opened_), opened_->name);
}

const std::string& RepeatableFile::name() const { return opened_->name; }

std::vector<RepeatableFile> open_repeatable(const std::vector<std::string>& paths) {
  for (size_t i = 0; i < paths.size(); ++i)
    for (size_t j = 0; j < i; ++j) check_distinct_streams(paths[j], paths[i]);
  std::vector<std::shared_ptr<Opened>> opened;
  std::vector<Opened*> streams;
  for (const std::string& path : paths) {
    opened.push_back(open_file(path));
    if (!S_ISREG(status_of(*opened.back()).st_mode)) {
      streams.push_back(opened.back().get());
    } else if (path == "-") {  // a part of it may have been read already
      opened.back()->begin = std::max<off_t>(0, ::lseek(opened.back()->file, 0, SEEK_CUR));
    }
  }
  copy_streams(streams);
  std::vector<RepeatableFile> files;
  for (const std::shared_ptr<Opened>& file : opened) {
    remember(*file);
    files.emplace_back(file);
  }
  return files;
}

void check_distinct_streams(const std::string& a, const std::string& b) {
  const auto first = status_of(a), second = status_of(b);
  const bool same = (a == "-" && b == "-") || (first && second && first->st_dev == second->st_dev &&
                                               first->st_ino == second->st_ino && !S_ISREG(first->st_mode));
  require<UsageError>(!same, "corpus", "'{},{}': both sides are the same stream, which can be read only once", a,
                      b);
}

}  // namespace qkv
