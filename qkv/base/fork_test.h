// For tests that fork.
#pragma once

#include <csignal>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace qkv {

// The exit status of a child, 128 if a signal ended it, or -1 if it did not end within the given seconds.
inline int exit_code(pid_t child, int seconds = 20) {
  for (int waited = 0; waited < 1000 * seconds; ++waited) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    ::usleep(1000);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return -1;
}

}  // namespace qkv
