#include "qkv/base/rank_threads.h"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "qkv/base/processors.h"
#include "qkv/base/run_ranks.h"

namespace qkv::rank_threads_test {

// The ranks of one process may use the same processors.
TEST(RankThreads, DividesTheProcessorsOfAMachine) {
  if (std::getenv("OMP_NUM_THREADS")) GTEST_SKIP() << "OMP_NUM_THREADS is set";
  const int all = available_processors();
  for (const int ranks : {1, 2, all + 1})
    run_ranks(ranks, [&](Communicator& c) { EXPECT_EQ(rank_threads(c), std::max(1, all / ranks)) << ranks; });
}

}  // namespace qkv::rank_threads_test
