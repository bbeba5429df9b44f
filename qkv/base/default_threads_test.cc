#include "qkv/base/default_threads.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace qkv::default_threads_test {

int threads_in(const std::map<std::string, std::string>& environment, int processors) {
  return default_threads(
      [&](const char* name) -> const char* {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
      },
      processors);
}

TEST(DefaultThreads, AreThoseOfOpenMpOrAllProcessors) {
  EXPECT_EQ(threads_in({}, 6), 6);
  EXPECT_EQ(threads_in({{"OMP_NUM_THREADS", "3"}}, 6), 3);
  for (const char* nonsense : {"", "many", "0", "-1", "1000000"})
    EXPECT_EQ(threads_in({{"OMP_NUM_THREADS", nonsense}}, 6), 6) << nonsense;
}

TEST(DefaultThreads, OfARankAreItsShareOfTheProcessors) {
  const auto of_rank = [](const char* threads, const char* ranks, int processors) {
    return threads_in({{"OMP_NUM_THREADS", threads}, {"TORCHELASTIC_RUN_ID", "none"}, {"LOCAL_WORLD_SIZE", ranks}},
                      processors);
  };
  EXPECT_EQ(of_rank("1", "4", 10), 2);
  EXPECT_EQ(of_rank("1", "4", 3), 1);
  EXPECT_EQ(of_rank("1", "1", 8), 1) << "torchrun sets nothing for one process: it was asked for";
  EXPECT_EQ(of_rank("3", "4", 16), 3);
  EXPECT_EQ(threads_in({{"OMP_NUM_THREADS", "1"}, {"LOCAL_WORLD_SIZE", "4"}}, 16), 1) << "not torchrun";
}

}  // namespace qkv::default_threads_test
