#include "qkv/base/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "qkv/base/default_threads.h"
#include "qkv/base/error.h"
#include "qkv/base/fork.h"
#include "qkv/base/integers.h"
#include "qkv/base/processors.h"

#if defined(__x86_64__)
#define QKV_PAUSE() __builtin_ia32_pause()
#else
#define QKV_PAUSE() std::this_thread::yield()
#endif

namespace qkv {
namespace {

thread_local int own_index = 0;    // 0: a caller's thread; members of the team have 1, 2, ...
thread_local bool inside = false;  // of a parallel region

int cores() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

std::atomic<int>& wanted_threads() {
  static std::atomic<int> count{
      default_threads([](const char* name) -> const char* { return std::getenv(name); }, available_processors())};
  return count;
}

// Shared by the threads of one parallel_for. Of a few items each thread begins with its own share, the same in every call, so that
// what it reads again and again, such as the weights of a layer, stays in its own caches; then it takes what others have not
// begun. Many items are handed out one after another.
struct Region {
  static constexpr int64_t max_marked = 64;

  int64_t count;
  int team;  // threads, at most
  FunctionRef<void(int64_t)> item;
  std::atomic<uint64_t> taken{0};  // a bit of each item, or the number of items
  std::exception_ptr error = {};
  std::mutex error_mutex = {};

  void work() noexcept {
    inside = true;
    try {
      if (count <= max_marked)
        work_from(count * own_index / team);
      else
        for (int64_t i; (i = static_cast<int64_t>(taken.fetch_add(1, std::memory_order_relaxed))) < count;) item(i);
    } catch (...) {
      taken.store(count <= max_marked ? ~uint64_t{0} : static_cast<uint64_t>(count), std::memory_order_relaxed);
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
    }
    inside = false;
  }

 private:
  void work_from(int64_t first) {
    for (int64_t n = 0; n < count; ++n) {
      const int64_t i = first + n < count ? first + n : first + n - count;
      const uint64_t bit = uint64_t{1} << i;
      if ((taken.load(std::memory_order_relaxed) & bit) == 0 &&
          (taken.fetch_or(bit, std::memory_order_relaxed) & bit) == 0)
        item(i);
    }
  }
};

// Blocks the signals of the host program on the threads of the team; only signals of faults and of profilers are not
// blocked.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
      sigdelset(&blocked, signal);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~BlockSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  sigset_t before_ = {};
};

// A wait before a thread sleeps. A decoding step of a small model has regions about fifty microseconds apart, and one that has to wake a
// member is over before the member runs.
class Spin {
 public:
  // A short wait; false once a tenth of a millisecond has passed.
  bool again() {
    if (over_) return false;
    QKV_PAUSE();
    if (++count_ % 256 == 0) over_ = Clock::now() - start_ > std::chrono::microseconds(100);
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
  int count_ = 0;
  bool over_ = false;
};

// The threads (members) that help the caller of a parallel_for. They take items until there are none left, and so does
// the caller: it waits only for items that were begun, not for members that were not scheduled in time. (OpenMP's
// barrier waits for all threads: on a busy machine a training step took 25 times as long.)
//
// The state is one integer: the number of the region, whether it is open, and the number of members in it. A member
// enters by incrementing an open state, so a closed region without members can be discarded at once.
class Team {
 public:
  // Never destroyed: members may still wait in it when the process ends. A fork copies only the calling thread, so the
  // child abandons its copy of the team in whatever state it is, and creates a new one.
  static Team& instance() {
    Team* team = current.load(std::memory_order_acquire);
    if (team) return *team;
    static std::once_flag registered;
    std::call_once(registered, [] { run_in_forked_child([] { current.store(nullptr); }); });
    auto made = std::make_unique<Team>();
    if (current.compare_exchange_strong(team, made.get())) return *made.release();
    return *team;  // another thread was first
  }

  // Runs the region with `helpers` members, or fewer if the system cannot create more threads. False if the team is
  // busy with another caller.
  bool run(Region& region, int helpers) {
    const std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock) return false;
    region_ = &region;
    helpers_ = hire(helpers);
    const uint64_t number = (state_.load(std::memory_order_relaxed) / one_region + 1) * one_region;
    state_.store(number | open);
    state_.notify_all();
    region.work();
    state_.fetch_and(~open);
    for (Spin spin;;) {
      const uint64_t state = state_.load();
      if ((state & entered) == 0) return true;
      if (!spin.again()) state_.wait(state);
    }
  }

 private:
  static constexpr uint64_t entered = 0xffff, open = 0x10000, one_region = 0x20000;

  // Starts missing members; returns the number of members there are.
  int hire(int wanted) {
    if (members_ >= wanted) return wanted;
    const BlockSignals inherited;
    try {
      for (; members_ < wanted; ++members_) std::thread([this, index = members_ + 1] { serve(index); }).detach();
    } catch (const std::exception&) {  // results do not depend on the number of threads
    }
    return members_;
  }

  void serve(int index) {
    own_index = index;
    for (uint64_t last = 0;;) {
      uint64_t state = next_region(last);
      last = state / one_region;
      if (index > helpers_.load(std::memory_order_relaxed)) continue;
      while ((state & open) && state / one_region == last && !state_.compare_exchange_weak(state, state + 1)) {
      }
      if (!(state & open) || state / one_region != last) continue;
      region_.load(std::memory_order_relaxed)->work();
      const uint64_t left = state_.fetch_sub(1) - 1;
      if ((left & (entered | open)) == 0) state_.notify_all();
    }
  }

  // The state of an open region that is not the last one served.
  uint64_t next_region(uint64_t last) {
    for (Spin spin;;) {
      const uint64_t state = state_.load();
      if ((state & open) && state / one_region != last) return state;
      if (!spin.again()) state_.wait(state);
    }
  }

  static inline std::atomic<Team*> current{nullptr};

  std::mutex busy_;
  int members_ = 0;
  std::atomic<uint64_t> state_{0};
  std::atomic<Region*> region_{nullptr};
  std::atomic<int> helpers_{0};
};

}  // namespace

int max_threads() { return std::max(64, 4 * cores()); }

int threads() { return inside ? 1 : wanted_threads().load(std::memory_order_relaxed); }

void set_threads(int count) {
  require(count >= 1 && count <= max_threads(), "set_threads", "the number of threads must be 1 to {}, got {}",
          max_threads(), count);
  wanted_threads().store(count, std::memory_order_relaxed);
}

int thread_index() { return own_index; }

void parallel_for(int64_t count, FunctionRef<void(int64_t)> item) {
  const int team = static_cast<int>(std::min<int64_t>(threads(), count));
  if (team > 1) {
    Region region{count, team, item};
    if (Team::instance().run(region, team - 1)) {
      if (region.error) std::rethrow_exception(region.error);
      return;
    }
  }
  for (int64_t i = 0; i < count; ++i) item(i);
}

void parallel_ranges(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> range) {
  const int64_t pieces = ceil_div(count, grain);
  parallel_for(pieces, [&](int64_t i) { range(i * grain, std::min(count, (i + 1) * grain)); });
}

}  // namespace qkv
