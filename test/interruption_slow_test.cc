// A training that is interrupted at random moments, by TERM, INT, HUP or KILL, and resumed, ends with the same bits
// and the same log as one that is not. QKV_INTERRUPTIONS=N: their number; default 1,000.
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test/faults/interruption.h"

namespace qkv::interruption_slow_test {

TEST(InterruptedTraining, EndsWithTheSameBitsAndTheSameLog) {
  const char* wanted = std::getenv("QKV_INTERRUPTIONS");
  const Interruptions i = interrupt_trainings({.count = wanted ? std::atoll(wanted) : 1000});
  fmt::print("{}\n", i.to_string());
  EXPECT_GT(i.trainings, 0);
  EXPECT_EQ(i.lost, 0) << i.findings;
  EXPECT_EQ(i.crashed, 0) << i.findings;
  EXPECT_EQ(i.different, 0) << i.findings;
}

}  // namespace qkv::interruption_slow_test
