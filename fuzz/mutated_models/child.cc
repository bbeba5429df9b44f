#include "fuzz/mutated_models/child.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "qkv/base/error.h"

namespace qkv::fuzz {
namespace {

// A file in memory that the child writes to or reads from.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& bytes = "") : file_(::memfd_create("child", MFD_CLOEXEC)) {
    require(file_ >= 0 && ::write(file_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "child",
            "no file in memory: error {}", errno);
    ::lseek(file_, 0, SEEK_SET);
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return file_; }
  std::string bytes() const {
    std::string bytes(static_cast<size_t>(::lseek(file_, 0, SEEK_END)), '\0');
    bytes.resize(static_cast<size_t>(std::max<ssize_t>(::pread(file_, bytes.data(), bytes.size(), 0), 0)));
    return bytes;
  }

 private:
  int file_;
};

[[noreturn]] void become(const std::vector<char*>& arguments, const std::array<int, 3>& files,
                         const ChildLimits& limits) {
  for (int i = 0; i < 3; ++i) ::dup2(files[static_cast<size_t>(i)], i);
  const auto seconds = static_cast<rlim_t>(limits.seconds);
  const rlimit space{limits.memory, limits.memory}, time{seconds, seconds + 1}, core{0, 0};
  ::setrlimit(RLIMIT_AS, &space);
  ::setrlimit(RLIMIT_CPU, &time);
  ::setrlimit(RLIMIT_CORE, &core);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

bool ends_within(pid_t child, int seconds) {
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  require(handle >= 0, "child", "pidfd_open: error {}", errno);
  pollfd ends{handle, POLLIN, 0};
  const bool ended = ::poll(&ends, 1, seconds * 1000) == 1;
  ::close(handle);
  return ended;
}

}  // namespace

Outcome run_program(const std::vector<std::string>& arguments, const std::string& input,
                    const ChildLimits& limits) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  const MemoryFile in(input), out, errors;
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  require(child >= 0, "child", "fork: error {}", errno);
  if (child == 0) become(pointers, {in.descriptor(), out.descriptor(), errors.descriptor()}, limits);
  const bool ended = ends_within(child, 6 * limits.seconds);
  if (!ended) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  Outcome outcome;
  const bool out_of_time = !ended || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU);
  outcome.end = out_of_time           ? Outcome::End::too_slow
                : WIFSIGNALED(status) ? Outcome::End::crashed
                                      : Outcome::End::exited;
  outcome.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  outcome.output = out.bytes();
  outcome.errors = errors.bytes();
  return outcome;
}

}  // namespace qkv::fuzz
