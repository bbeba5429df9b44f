// Locks that survive a fork. A plain mutex that another thread holds during fork() stays locked in the child for ever,
// because the thread that would unlock it does not exist there.
//
//     static ForkSafeMutex mutex;                       // of static lifetime, or never destroyed
//     const std::lock_guard lock(mutex);                // briefly, and without taking another lock
//
//     run_in_forked_child([] { team.store(nullptr); });
//
// The forking thread holds every ForkSafeMutex during fork() and releases it in both processes, so the data that it
// guards is consistent in the child. Registration is permanent, hence the static lifetime.
#pragma once

#include <mutex>

namespace qkv {

class ForkSafeMutex {
 public:
  ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;
  ~ForkSafeMutex() = default;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// Calls `action` in every later child process, before fork() returns there.
void run_in_forked_child(void (*action)());

}  // namespace qkv
