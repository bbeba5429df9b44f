#include "qkv/base/resumable_file.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "qkv/base/descriptor.h"
#include "qkv/base/error.h"
#include "qkv/base/file.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

void check(bool ok, const fs::path& path) {
  if (!ok) throw FileError("write", path.string(), errno);
}

void write_all(int file, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t wrote = retried([&] { return ::write(file, bytes.data(), bytes.size()); });
    check(wrote >= 0, path);
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
}

void sync(int file, const fs::path& path) {
  check(retried([&] { return ::fdatasync(file); }) == 0, path);
}

std::optional<int64_t> size_of(const fs::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0) return status.st_size;
  check(errno == ENOENT || errno == ENOTDIR, path);
  return {};
}

// "LINES BYTES", or "end LINES BYTES".
struct Row {
  int64_t lines = 0, bytes = 0;
  bool is_end = false;
};

std::optional<Row> parse_row(std::string_view text) {
  constexpr std::string_view end = "end ";
  Row row = {.is_end = text.starts_with(end)};
  if (row.is_end) text.remove_prefix(end.size());
  const char* last = text.data() + text.size();
  const auto [space, error] = std::from_chars(text.data(), last, row.lines);
  if (error != std::errc() || space == last || *space != ' ') return {};
  const auto [rest, second] = std::from_chars(space + 1, last, row.bytes);
  if (second != std::errc() || rest != last || row.lines < 0 || row.bytes < 0) return {};
  return row;
}

// Waits a while: a process that is killed keeps its locks until the system has ended it.
bool locked(int file) {
  for (int tries = 0; ::flock(file, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK) return true;  // a file system may have no locks
    if (tries == 20) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return true;
}

}  // namespace

ResumableFile::ResumableFile(const fs::path& path, const std::string& key) : path_(path), target_(path) {
  require(key.find('\n') == key.npos && !key.empty(), "ResumableFile", "the key must be one line, got {}", key);
  struct stat status = {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  check(exists || errno == ENOENT || errno == ENOTDIR, path);
  require<InputError>(!exists || S_ISREG(status.st_mode), "write", "{}: not a regular file", path.string());
  if (exists)
    check(::access(path.c_str(), W_OK) == 0, path);  // rename() does not check the permissions of the target
  if (exists && fs::is_symlink(path)) target_ = fs::canonical(path);
  part_path_ = fs::path(target_) += ".part";
  journal_path_ = fs::path(target_) += ".journal";
  open_journal();
  read_journal(key);
}

ResumableFile::~ResumableFile() {
  if (!part_ || bytes_ > 0 || lines_ > 0) return;
  ::unlink(part_path_.c_str());
  ::unlink(journal_path_.c_str());
}

// Locked while this process lives. A file that was removed while it waited for the lock is not the journal.
void ResumableFile::open_journal() {
  for (;;) {
    journal_ = std::make_unique<Descriptor>(
        retried([&] { return ::open(journal_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666); }));
    check(*journal_ >= 0, journal_path_);
    require<InputError>(locked(*journal_), "write", "{}: another process is writing it", path_.string());
    struct stat ours = {}, named = {};
    check(::fstat(*journal_, &ours) == 0, journal_path_);
    require<InputError>(S_ISREG(ours.st_mode), "write", "{}: not a regular file", journal_path_.string());
    if (::stat(journal_path_.c_str(), &named) == 0 && named.st_ino == ours.st_ino && named.st_dev == ours.st_dev)
      return;
  }
}

void ResumableFile::read_journal(const std::string& key) {
  constexpr size_t max_bytes = size_t{1} << 26;
  const std::string text = read_file(journal_path_, max_bytes);
  const size_t end = text.find('\n');
  if (end == text.npos) {  // new, or the process was killed before its key was written
    require<InputError>(key.starts_with(text), "write", "{}: this is not a journal of qkv", journal_path_.string());
    require<InputError>(!size_of(part_path_), "write", "{}: it exists, and has no journal; move it away",
                        part_path_.string());
    return begin_journal(key);
  }
  const bool same = text.substr(0, end) == key;
  if (!same && end + 1 == text.size() && size_of(part_path_).value_or(0) == 0) return begin_journal(key);
  require<InputError>(
      same, "write",
      "{}: it was begun by another command, input or model ({}); continue it with that, or remove {} and {}",
      path_.string(), text.substr(0, std::min<size_t>(end, 1000)), journal_path_.string(), part_path_.string());
  if (!take_rows(std::string_view(text).substr(end + 1))) return begin_journal(key);
}

// What the rows say was written, as far as it is there. False if it is not, so that the file begins anew.
bool ResumableFile::take_rows(std::string_view rows) {
  const std::optional<int64_t> part = size_of(part_path_);
  Row last, held;   // of all rows; of those whose bytes are there
  size_t good = 0;  // bytes of rows that hold
  for (size_t at = 0, feed; (feed = rows.find('\n', at)) != rows.npos;
       at = feed + 1) {  // the last may be half a row
    const std::optional<Row> row = parse_row(rows.substr(at, feed - at));
    require<InputError>(row && row->lines >= last.lines && row->bytes >= last.bytes && !last.is_end, "write",
                        "{}: this is not a journal of qkv", journal_path_.string());
    last = *row;
    if (!part || row->bytes > *part) continue;
    held = *row;
    good = feed + 1;
  }
  if (!part) return last.is_end && take_output(last.lines, last.bytes);
  lines_ = held.lines;
  bytes_ = held.bytes;
  open_part();
  const off_t before = ::lseek(*journal_, 0, SEEK_END) - static_cast<off_t>(rows.size());
  check(::ftruncate(*journal_, before + static_cast<off_t>(good)) == 0, journal_path_);
  check(::lseek(*journal_, 0, SEEK_END) >= 0, journal_path_);
  if (held.is_end) finish();
  return true;
}

// The file that was committed. False if it was removed since.
bool ResumableFile::take_output(int64_t lines, int64_t bytes) {
  const std::optional<int64_t> there = size_of(target_);
  if (!there) return false;
  require<InputError>(*there == bytes, "write",
                      "{}: it has {} bytes, its journal says {}: it was changed; to compute it again remove {}",
                      path_.string(), *there, bytes, journal_path_.string());
  lines_ = lines;
  return complete_ = true;
}

void ResumableFile::begin_journal(const std::string& key) {
  check(::ftruncate(*journal_, 0) == 0 && ::lseek(*journal_, 0, SEEK_SET) == 0, journal_path_);
  write_all(*journal_, key + "\n", journal_path_);
  sync(*journal_, journal_path_);
  lines_ = bytes_ = 0;
  open_part();
}

void ResumableFile::open_part() {
  part_ = std::make_unique<Descriptor>(
      retried([&] { return ::open(part_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666); }));
  check(*part_ >= 0, part_path_);
  check(::ftruncate(*part_, bytes_) == 0 && ::lseek(*part_, bytes_, SEEK_SET) >= 0, part_path_);
}

void ResumableFile::append(std::string_view bytes, int64_t lines) {
  require(part_ != nullptr, "write", "{}: the file was committed already", path_.string());
  write_all(*part_, bytes, part_path_);
  sync(*part_, part_path_);
  bytes_ += static_cast<int64_t>(bytes.size());
  lines_ += lines;
  write_all(*journal_, fmt::format("{} {}\n", lines_, bytes_), journal_path_);
}

void ResumableFile::commit() {
  require(part_ != nullptr, "write", "{}: the file was committed already", path_.string());
  sync(*part_, part_path_);
  write_all(*journal_, fmt::format("end {} {}\n", lines_, bytes_), journal_path_);
  sync(*journal_, journal_path_);
  finish();
}

void ResumableFile::finish() {
  check(::rename(part_path_.c_str(), target_.c_str()) == 0, path_);
  part_.reset();
  force_folder(target_.has_parent_path() ? target_.parent_path() : fs::path("."));
  complete_ = true;
}

}  // namespace qkv
