#include "qkv/base/threads.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/fork.h"
#include "qkv/base/fork_test.h"

namespace qkv::threads_test {

// Sets the number of threads, and restores it.
class Threads {
 public:
  explicit Threads(int count) : before_(threads()) { set_threads(count); }
  ~Threads() { set_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

TEST(Threads, EveryItemIsDoneOnce) {
  for (const int count : {1, 2, 4}) {
    const Threads guard(count);
    for (const int64_t n : {0, 1, 2, 3, 7, 63, 64, 65, 1000}) {
      std::vector<int> done(static_cast<size_t>(n), 0);
      parallel_for(n, [&](int64_t i) { ++done[static_cast<size_t>(i)]; });
      EXPECT_EQ(done, std::vector<int>(static_cast<size_t>(n), 1)) << count << " threads, " << n << " items";
    }
  }
}

// Each item waits until all have begun, so no thread can take a second one.
TEST(Threads, AThreadBeginsWithTheSameItemsInEveryCall) {
  const Threads guard(3);
  for (int call = 0; call < 20; ++call) {
    std::atomic<int> begun{0};
    std::vector<int> by(3, -1);
    parallel_for(3, [&](int64_t i) {
      by[static_cast<size_t>(i)] = thread_index();
      ++begun;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (begun < 3 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    });
    EXPECT_EQ(by, (std::vector<int>{0, 1, 2}));
  }
}

TEST(Threads, RangesAreCutAtMultiplesOfTheGrainAndCoverEverything) {
  for (const int count : {1, 2, 4}) {
    const Threads guard(count);
    for (const int64_t n : {0, 1, 63, 64, 65, 1000}) {
      std::vector<int> done(static_cast<size_t>(n), 0);
      parallel_ranges(n, 64, [&](int64_t begin, int64_t end) {
        require(begin % 64 == 0 && begin < end && end <= n && end - begin <= 64, "test", "[{}, {})", begin, end);
        for (int64_t i = begin; i < end; ++i) ++done[static_cast<size_t>(i)];
      });
      EXPECT_EQ(done, std::vector<int>(static_cast<size_t>(n), 1)) << count << " threads, " << n << " items";
    }
  }
}

TEST(Threads, AnExceptionOfAnItemIsRethrownAndTheNextCallWorks) {
  for (const int count : {1, 2, 4}) {
    const Threads guard(count);
    try {
      parallel_for(100, [](int64_t i) {
        if (i == 37) throw std::runtime_error("item " + std::to_string(i));
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "item 37");
    }
    std::vector<int> done(10, 0);
    parallel_for(10, [&](int64_t i) { done[static_cast<size_t>(i)] = 1; });
    EXPECT_EQ(done, std::vector<int>(10, 1));
  }
}

TEST(Threads, ACallInsideAParallelRegionRunsOnTheCallingThread) {
  const Threads guard(4);
  std::vector<int> wrong(8, 0);
  parallel_for(8, [&](int64_t i) {
    const int outside = thread_index();
    if (threads() != 1) wrong[static_cast<size_t>(i)] = 1;
    parallel_for(5, [&](int64_t) {
      if (thread_index() != outside) wrong[static_cast<size_t>(i)] = 1;
    });
  });
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

TEST(Threads, TheIndexOfAThreadIsBelowTheirNumberAndScratchMemoryIsItsOwn) {
  for (const int count : {1, 2, 4}) {
    const Threads guard(count);
    std::vector<int64_t> scratch(static_cast<size_t>(count), 0);
    parallel_for(1000, [&](int64_t i) { scratch.at(static_cast<size_t>(thread_index())) += i; });
    int64_t sum = 0;
    for (const int64_t s : scratch) sum += s;
    EXPECT_EQ(sum, 499500);
  }
}

// Every item has its own output, partial results are summed in the order of the items.
TEST(Threads, TheSameBitsAtAnyNumberOfThreads) {
  const auto compute = [](int count) {
    const Threads guard(count);
    constexpr int64_t n = 10000, grain = 128;
    std::vector<float> partial((n + grain - 1) / grain, 0.0f);
    parallel_ranges(n, grain, [&](int64_t begin, int64_t end) {
      float& sum = partial[static_cast<size_t>(begin / grain)];
      for (int64_t i = begin; i < end; ++i) sum += 1.0f / static_cast<float>(i + 1);
    });
    float total = 0;
    for (const float p : partial) total += p;
    return total;
  };
  const float one = compute(1);
  EXPECT_NEAR(one, 9.7876060, 1e-5);  // the harmonic number of 10,000
  EXPECT_EQ(compute(2), one);
  EXPECT_EQ(compute(4), one);
}

// Writes before a parallel call are visible inside, writes inside are visible after it. (The thread sanitizer would
// report a missing synchronization.)
TEST(Threads, CallsFollowOneAnother) {
  const Threads guard(4);
  std::vector<int> x(64, 1), y(64);
  for (int round = 0; round < 50; ++round) {
    parallel_for(64, [&](int64_t i) { y[static_cast<size_t>(i)] = x[static_cast<size_t>((i + 1) % 64)] + 1; });
    parallel_for(64, [&](int64_t i) { x[static_cast<size_t>(63 - i)] = y[static_cast<size_t>(i)]; });
    for (int& v : x) v -= 1;
  }
  EXPECT_EQ(x, std::vector<int>(64, 1));
}

TEST(Threads, AnInvalidNumberOfThreadsIsAnError) {
  EXPECT_THROW(set_threads(0), Error);
  EXPECT_THROW(set_threads(-1), Error);
}

// Two items that wait for each other: they complete only if two threads take one each.
bool two_threads_meet() {
  std::atomic<int> arrived{0};
  std::atomic<bool> met{true};
  parallel_for(2, [&](int64_t) {
    ++arrived;
    const auto begin = std::chrono::steady_clock::now();
    while (arrived < 2 && met)
      if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(5)) met = false;
  });
  return met;
}

TEST(Fork, AChildUsesAllItsThreadsWhateverTheParentsThreadsDid) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer allows no threads after a fork";
#elif defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a lock of the address sanitizer may be held at the fork: a new thread of the child waits for it";
#endif
  if (QKV_EMULATED) GTEST_SKIP() << "qemu allows no fork while other threads run";
  const Threads guard(2);
  ASSERT_TRUE(two_threads_meet());
  static ForkSafeMutex mutex;
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i)
    others.emplace_back([&] {
      while (!stop) {
        parallel_for(4, [](int64_t) {});
        const std::lock_guard lock(mutex);
      }
    });
  for (int i = 0; i < 100 && !HasFailure(); ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const bool free = (mutex.lock(), mutex.unlock(), true);
      ::_exit(free && two_threads_meet() ? 0 : 1);
    }
    EXPECT_EQ(exit_code(child), 0) << "child " << i;
  }
  stop = true;
  for (std::thread& other : others) other.join();
  EXPECT_TRUE(two_threads_meet()) << "the parent";
}

TEST(Threads, TheCallerDoesAllItemsIfNoThreadCanBeStarted) {
  if (QKV_EMULATED) GTEST_SKIP() << "qemu takes memory in proportion to the stack";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // A stack of a thread must not fit into the address space.
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, size_t{1} << 46);
    if (::pthread_setattr_default_np(&attributes) != 0) ::_exit(2);
    set_threads(3);
    std::vector<int> done(100, 0);
    parallel_for(100, [&](int64_t i) { ++done[static_cast<size_t>(i)]; });
    ::_exit(done == std::vector<int>(100, 1) ? 0 : 1);
  }
  EXPECT_EQ(exit_code(child), 0);
}

// A signal for the process is handled by a thread of the host.
TEST(Threads, TheTeamHandlesNoSignals) {
  const Threads guard(2);
  static std::atomic<int> handled{0}, elsewhere{0};
  static const pthread_t host = ::pthread_self();
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) {
    ++handled;
    if (!::pthread_equal(::pthread_self(), host)) ++elsewhere;
  };
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  sigset_t user, mask;
  sigemptyset(&user);
  sigaddset(&user, SIGUSR1);
  for (int i = 0; i < 50; ++i) {
    // Blocked where it would be handled, it would go to any thread that does not block it.
    ::pthread_sigmask(SIG_BLOCK, &user, &mask);
    ::kill(::getpid(), SIGUSR1);
    parallel_for(8, [](int64_t) { ::usleep(10); });
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  }
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(elsewhere, 0);
  EXPECT_GT(handled, 0);
}

}  // namespace qkv::threads_test
