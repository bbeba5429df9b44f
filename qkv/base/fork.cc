#include "qkv/base/fork.h"

#include <pthread.h>
#include <vector>

namespace qkv {
namespace {

struct Registered {
  std::mutex mutex;  // of the two lists
  std::vector<ForkSafeMutex*> locks;
  std::vector<void (*)()> actions;
};

Registered& registered();

void before_fork() {
  registered().mutex.lock();
  for (ForkSafeMutex* lock : registered().locks) lock->lock();
}

void release() {
  for (ForkSafeMutex* lock : registered().locks) lock->unlock();
  registered().mutex.unlock();
}

void in_child() {
  release();
  for (void (*const action)() : registered().actions) action();
}

// Never destroyed: a process may fork during exit.
Registered& registered() {
  static Registered* const instance = [] {
    auto* const made = new Registered;
    ::pthread_atfork(before_fork, release, in_child);
    return made;
  }();
  return *instance;
}

}  // namespace

ForkSafeMutex::ForkSafeMutex() {
  const std::lock_guard lock(registered().mutex);
  registered().locks.push_back(this);
}

void run_in_forked_child(void (*action)()) {
  const std::lock_guard lock(registered().mutex);
  registered().actions.push_back(action);
}

}  // namespace qkv
