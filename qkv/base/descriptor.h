// File descriptors, for the files of this folder that call the system directly.
//
//     const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));   // closed at the end of its scope
//     const ssize_t got = retried([&] { return ::read(file, data, size); });
//
// Nothing here throws: callers check for negative results and read errno.
#pragma once

#include <cerrno>
#include <unistd.h>
#include <utility>

namespace qkv {

// Calls a system function again when a signal interrupted it.
template <class Call>
auto retried(Call call) {
  decltype(call()) result;
  do result = call();
  while (result < 0 && errno == EINTR);
  return result;
}

// A file descriptor that closes itself; none if negative.
class Descriptor {
 public:
  explicit Descriptor(int file = -1) : file_(file) {}
  Descriptor(Descriptor&& other) noexcept : file_(other.release()) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (file_ >= 0) ::close(file_);
  }

  operator int() const { return file_; }  // NOLINT: implicit, as an argument of system calls
  int release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

}  // namespace qkv
