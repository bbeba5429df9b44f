#include "qkv/base/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include <omp.h>

#include "qkv/base/error.h"

// ThreadSanitizer does not see the barriers of an OpenMP runtime that was built without it. Every parallel region
// of the library is the one in fork() below, so two annotations tell it what the barriers order, and fork() itself,
// which hands over the region before the first of them, is not looked at.
#if defined(__SANITIZE_THREAD__)
#define QKV_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define QKV_TSAN 1
#endif
#endif
#ifdef QKV_TSAN
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
#else
static void __tsan_acquire(void*) {}
static void __tsan_release(void*) {}
#endif

namespace qkv {

int threads() { return omp_in_parallel() ? 1 : omp_get_max_threads(); }

void set_threads(int count) {
  require(count >= 1 && count <= 4096, "set_threads", "the number of threads must be 1 to 4096, got {}", count);
  omp_set_num_threads(count);
}

int thread_index() { return omp_get_thread_num(); }

namespace {

// What the threads of one parallel_for share.
struct Region {
  int64_t count;
  FunctionRef<void(int64_t)> item;
  std::atomic<int64_t> next{0};
  std::exception_ptr error = {};
  std::mutex error_mutex = {};
  char forked = 0, joined = 0;  // places for the annotations to speak of

  [[gnu::noinline]] void work() noexcept {
    __tsan_acquire(&forked);
    try {
      for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) item(i);
    } catch (...) {
      next.store(count, std::memory_order_relaxed);
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
    }
    __tsan_release(&joined);
  }
};

[[gnu::noinline, gnu::no_sanitize_thread]] void fork(int team, Region* region) {
#pragma omp parallel num_threads(team) default(none) firstprivate(region)
  region->work();
}

}  // namespace

void parallel_for(int64_t count, FunctionRef<void(int64_t)> item) {
  const int team = static_cast<int>(std::min<int64_t>(threads(), count));
  if (team <= 1) {
    for (int64_t i = 0; i < count; ++i) item(i);
    return;
  }
  Region region{.count = count, .item = item};
  __tsan_release(&region.forked);
  fork(team, &region);
  __tsan_acquire(&region.joined);
  if (region.error) std::rethrow_exception(region.error);
}

void parallel_ranges(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> range) {
  const int64_t pieces = (count + grain - 1) / grain;
  parallel_for(pieces, [&](int64_t i) { range(i * grain, std::min(count, (i + 1) * grain)); });
}

}  // namespace qkv
