// Preloaded into a program (LD_PRELOAD): a timer signal every 150 microseconds, from before main() until the end.
// Its handler runs on the ordinary stack of the interrupted thread and only writes to a page of it, as any handler
// of a host program may.
#include <csignal>
#include <cstdlib>
#include <sys/time.h>
#include <unistd.h>

namespace {

void touch_stack(int) {
  volatile char page[4096];
  for (volatile char& byte : page) byte = static_cast<char>(0x5a);
}

__attribute__((constructor)) void begin() {
  ::unsetenv("LD_PRELOAD");
  struct sigaction action = {};
  action.sa_handler = touch_stack;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  const itimerval every = {{0, 150}, {0, 150}};
  ::setitimer(ITIMER_REAL, &every, nullptr);
}

}  // namespace
