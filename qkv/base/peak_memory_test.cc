#include "qkv/base/peak_memory.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "qkv/base/integers.h"
#include "qkv/base/memory.h"

namespace qkv::peak_memory_test {

// Mapped, since the address sanitizer keeps what is freed.
void use_and_free(int64_t bytes) {
  const int64_t whole = rounded_up(bytes, huge_page);
  std::byte* const used = map_memory(whole);
  std::fill_n(used, whole, std::byte{1});
  unmap_memory(used, whole);
}

TEST(PeakMemory, GrowsWithWhatIsUsedAndStaysWhenItIsFreed) {
  constexpr int64_t more = 64 << 20;
  const int64_t before = peak_memory();
  use_and_free(before + more);
  const int64_t after = peak_memory();
  EXPECT_GE(after, before + more);
  EXPECT_EQ(peak_memory() / after, 1);
}

TEST(PeakMemory, OfWhatWasFreedIsForgottenByAReset) {
  constexpr int64_t more = 64 << 20;
  use_and_free(peak_memory() + more);
  const int64_t before = peak_memory();
  if (!reset_peak_memory()) GTEST_SKIP() << "this system does not reset it";
  EXPECT_LE(peak_memory(), before - more);
}

}  // namespace qkv::peak_memory_test
