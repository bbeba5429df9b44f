#include "qkv/train/run_log.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "qkv/base/file.h"

namespace qkv {

RunLog::RunLog(const std::filesystem::path& path, int64_t bytes) : path_(path.string()) {
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) fail_with(errno);
  const off_t end = ::lseek(file_, 0, SEEK_END);
  bytes_ = std::min<int64_t>(bytes, std::max<off_t>(end, 0));
  if (end < 0 || ::ftruncate(file_, bytes_) != 0 || ::lseek(file_, bytes_, SEEK_SET) < 0) {
    const int error = errno;
    ::close(file_);
    fail_with(error);
  }
}

RunLog::~RunLog() { ::close(file_); }

void RunLog::write(const std::string& line) { append(line + "\n"); }

void RunLog::append(std::string_view bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = ::write(file_, bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) fail_with(errno);
    done += static_cast<size_t>(wrote);
  }
  bytes_ += static_cast<int64_t>(bytes.size());
}

void RunLog::force() {
  if (::fsync(file_) != 0) fail_with(errno);
}

void RunLog::fail_with(int error) const { throw FileError("write", path_, error); }

}  // namespace qkv
