#include "qkv/base/peak_memory.h"

#include <vector>

#include <gtest/gtest.h>

namespace qkv::peak_memory_test {

TEST(PeakMemory, GrowsWithWhatIsUsedAndStaysWhenItIsFreed) {
  constexpr int64_t more = 64 << 20;
  const int64_t before = peak_memory();
  { const std::vector<char> used(static_cast<size_t>(before + more), 'x'); }
  const int64_t after = peak_memory();
  EXPECT_GE(after, before + more);
  EXPECT_EQ(peak_memory() / after, 1);
}

TEST(PeakMemory, OfWhatWasFreedIsForgottenByAReset) {
  constexpr int64_t more = 64 << 20;
  { const std::vector<char> used(static_cast<size_t>(peak_memory() + more), 'x'); }
  const int64_t before = peak_memory();
  if (!reset_peak_memory()) GTEST_SKIP() << "this system does not reset it";
  EXPECT_LE(peak_memory(), before - more);
}

}  // namespace qkv::peak_memory_test
