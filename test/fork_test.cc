// A process may fork at any moment, while its other threads compute: the child begins with one thread, can call the
// library with any number of threads, and gets the same bits. QKV_FORKS=2000 makes more children.
#include "qkv/base/fork_test.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/base/threads.h"
#include "qkv/op/linear.h"
#include "qkv/test_support/tensors.h"

namespace qkv::fork_test {

using namespace test;

// Allocates and releases memory, packs a weight, computes tiles on all threads, forward and backward.
std::vector<float> computation() {
  const auto with_gradient = [](const Tensor& value) { return Variable(value, {.requires_grad = true}); };
  const Variable x = with_gradient(random_tensor({2, 64, 96}, 1)), w = with_gradient(random_tensor({96, 96}, 2));
  const Tensor q = linear(x, w, {}).value().reshape({2, 64, 6, 16}).transpose(1, 2);
  const Variable out = attention(with_gradient(q), with_gradient(q), with_gradient(q), {.mask = causal()});
  out.backward(random_tensor(out.shape(), 4));
  const Variable y = linear(x, w, {});
  y.backward(random_tensor(y.shape(), 5));
  std::vector<float> numbers;
  for (const Tensor& t : {out.value().contiguous_copy(), w.grad(), x.grad()})
    numbers.insert(numbers.end(), t.span<float>().begin(), t.span<float>().end());
  return numbers;
}

TEST(Fork, ChildrenComputeTheSameBitsWhileTheParentComputes) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer allows no threads after a fork";
#endif
  if (QKV_EMULATED) GTEST_SKIP() << "qemu allows no fork while other threads run";
  const char* count = std::getenv("QKV_FORKS");
  const int children = count ? std::atoi(count) : 50;
  set_threads(2);
  const std::vector<float> expected = computation();
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i)
    others.emplace_back([&] {
      while (!stop) computation();
    });
  for (int i = 0; i < children && !HasFailure(); ++i) {
    ::usleep(static_cast<useconds_t>(i % 7 * 100));
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(computation() == expected ? 0 : 1);
    EXPECT_EQ(exit_code(child), 0) << "child " << i << " of " << children << ": -1 if it hung, 1 for other bits";
  }
  stop = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(computation(), expected) << "the parent";
}

}  // namespace qkv::fork_test
