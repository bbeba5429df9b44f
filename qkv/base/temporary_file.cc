#include "qkv/base/temporary_file.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "qkv/base/descriptor.h"
#include "qkv/base/file.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr size_t host_digits = 8, random_digits = 16;

// The boot id of this machine, the same in all of its containers.
const std::string& host() {
  static const std::string id = [] {
    std::string digits(host_digits, '0');
    const Descriptor file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    if (file < 0 || ::pread(file, digits.data(), digits.size(), 0) != static_cast<ssize_t>(digits.size()))
      return std::string(host_digits, '0');
    return digits;
  }();
  return id;
}

uint64_t random_number() {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) == sizeof number) return number;
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) ^
         static_cast<uint64_t>(::getpid()) << 40;
}

bool is_hex(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == text.npos; }

// The HOST of "TARGET.HOST-RANDOM.tmp", or "" for any other name.
std::string_view host_of(std::string_view name) {
  constexpr std::string_view end = ".tmp";
  constexpr size_t tail = 1 + host_digits + 1 + random_digits + end.size();
  if (name.size() <= tail || !name.ends_with(end)) return {};
  const std::string_view rest = name.substr(name.size() - tail);
  const std::string_view host = rest.substr(1, host_digits), random = rest.substr(host_digits + 2, random_digits);
  return rest[0] == '.' && rest[1 + host_digits] == '-' && is_hex(host) && is_hex(random) ? host
                                                                                          : std::string_view();
}

bool untouched_for_an_hour(int file) {
  struct stat status = {};
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return ::fstat(file, &status) == 0 && now - status.st_mtime > 3600;
}

Descriptor open_folder(const fs::path& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

fs::path temporary_name(const fs::path& target) {
  return fmt::format("{}.{}-{:016x}.tmp", target.string(), host(), random_number());
}

// Whether the open file or folder still has its name: another process may have removed it as abandoned before it was
// locked.
bool is_still_there(int file, const fs::path& path) {
  struct stat opened = {}, named = {};
  if (::fstat(file, &opened) != 0) return true;
  if (::lstat(path.c_str(), &named) != 0) return errno != ENOENT;
  return named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

void remove_if_abandoned(const fs::path& path) {
  const std::string name = path.filename().string();
  Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  const bool is_folder = file < 0 && errno == EISDIR;
  if (is_folder) file = open_folder(path);
  if (file < 0) return;
  const bool locked = ::flock(file, LOCK_EX | LOCK_NB) == 0;
  if (!locked && errno == EWOULDBLOCK) return;
  if (!(locked && host_of(name) == host()) && !untouched_for_an_hour(file)) return;
  std::error_code error;
  if (is_folder)
    fs::remove_all(path, error);
  else
    ::unlink(path.c_str());
}

template <class Matches>
void remove_where(const fs::path& folder, Matches matches) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!host_of(name).empty() && matches(name)) found.push_back(entry->path());
  }
  for (const fs::path& path : found) remove_if_abandoned(path);
}

}  // namespace

TemporaryFile::TemporaryFile(const fs::path& target) {
  for (int tries = 0; tries < 100; ++tries) {
    path = temporary_name(target);
    descriptor = retried([&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
    if (descriptor < 0 && errno == EEXIST) continue;
    if (descriptor < 0) return;
    retried(
        [&] { return ::flock(descriptor, LOCK_EX); });  // fails on file systems without locks, which is harmless
    if (is_still_there(descriptor, path)) return;
    ::close(std::exchange(descriptor, -1));
  }
  errno = EEXIST;
}

TemporaryFolder::TemporaryFolder(const fs::path& target) : target_(target) {
  remove_abandoned(target);
  for (int tries = 0; tries < 100; ++tries) {
    path_ = temporary_name(target);
    if (::mkdir(path_.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      throw FileError("write", target.string(), errno);
    }
    Descriptor folder = open_folder(path_);
    if (folder >= 0) retried([&] { return ::flock(folder, LOCK_EX); });  // fails without locks, which is harmless
    if (folder >= 0 && !is_still_there(folder, path_)) continue;
    descriptor_ = folder.release();
    return;
  }
  throw FileError("write", target.string(), EEXIST);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
  if (descriptor_ >= 0) ::close(descriptor_);
}

void TemporaryFolder::commit() {
  if (::rename(path_.c_str(), target_.c_str()) != 0) throw FileError("write", target_.string(), errno);
  path_.clear();
  force_folder(target_.has_parent_path() ? target_.parent_path() : fs::path("."));
}

void remove_abandoned(const fs::path& target) {
  const std::string prefix = target.filename().string() + ".";
  remove_where(target.has_parent_path() ? target.parent_path() : fs::path("."), [&](const std::string& name) {
    return name.starts_with(prefix) && name.size() == prefix.size() + host_digits + 1 + random_digits + 4;
  });
}

void remove_abandoned_files(const fs::path& folder) {
  remove_where(folder, [](const std::string&) { return true; });
}

}  // namespace qkv
