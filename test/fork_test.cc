// A process may fork at any moment, while its other threads compute: the child has one thread, and whatever it asks
// of the library works, on all the threads it wants, with the same bits. QKV_FORKS=2000 makes more children.
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
#include "qkv/base/random.h"
#include "qkv/base/threads.h"
#include "qkv/op/linear.h"

namespace qkv {
namespace {

Tensor random(const Shape& shape, uint64_t stream) {
  Tensor out = Tensor::empty(shape);
  Random numbers(3, stream);
  for (float& x : out.span<float>()) x = static_cast<float>(numbers.normal());
  return out;
}

// Memory is taken and given back, a weight is packed, tiles are computed on all threads, forward and backward.
std::vector<float> computation() {
  const auto learnt = [](const Tensor& value) { return Variable(value, {.requires_grad = true}); };
  const Variable x = learnt(random({2, 64, 96}, 1)), w = learnt(random({96, 96}, 2));
  const Tensor q = linear(x, w, {}).value().reshape({2, 64, 6, 16}).transpose(1, 2);
  const Variable out = attention(learnt(q), learnt(q), learnt(q), {.mask = causal()});
  out.backward(random(out.shape(), 4));
  const Variable y = linear(x, w, {});
  y.backward(random(y.shape(), 5));
  std::vector<float> numbers;
  for (const Tensor& t : {out.value().contiguous_copy(), w.grad(), x.grad()})
    numbers.insert(numbers.end(), t.span<float>().begin(), t.span<float>().end());
  return numbers;
}

TEST(Fork, ChildrenComputeTheSameBitsWhileTheParentGoesOnComputing) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer allows no threads after a fork";
#endif
  const char* wanted = std::getenv("QKV_FORKS");
  const int children = wanted ? std::atoi(wanted) : 50;
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
    EXPECT_EQ(exit_code(child), 0) << "child " << i << " of " << children << ": -1 hung, 1 other bits";
  }
  stop = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(computation(), expected) << "the parent";
}

}  // namespace
}  // namespace qkv
