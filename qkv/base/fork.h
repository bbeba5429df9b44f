// What a fork must not break: a lock that another thread holds at the moment of a fork stays locked in the child
// for ever, for the thread that would unlock it does not exist there.
//
//     static ForkSafeMutex mutex;                       // of static lifetime, or never destroyed
//     const std::lock_guard lock(mutex);                // for a few instructions: no other lock is taken inside
//
//     run_in_forked_child([] { team.store(nullptr); });
//
// A ForkSafeMutex is held by the forking thread while the process is copied, and free in both copies: what it
// guards is whole in the child. Registering is for ever, hence the static lifetime.
#pragma once

#include <mutex>

namespace qkv {

class ForkSafeMutex {
 public:
  ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// Called in every child that a fork makes from now on, before fork() returns there.
void run_in_forked_child(void (*action)());

}  // namespace qkv
