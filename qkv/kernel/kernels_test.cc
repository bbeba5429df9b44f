#include "qkv/kernel/kernels.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace qkv::kernel::kernels_test {

TEST(Kernels, ThePinnedInstructionSetRuns) {
  const char* pinned = std::getenv("QKV_ISA");
  if (pinned == nullptr || *pinned == 0)
    EXPECT_EQ(&kernels(), all_kernels().back());
  else
    EXPECT_EQ(kernels().isa, pinned);
  RecordProperty("isa", std::string(kernels().isa));
}

TEST(Kernels, SetsAreSortedByWidthAndThisCpuHasThem) {
  int lanes = 0;
  for (const Kernels* k : all_kernels()) {
    EXPECT_TRUE(cpu_has(k->isa));
    EXPECT_GE(k->lanes, lanes) << k->isa;
    lanes = k->lanes;
  }
  EXPECT_FALSE(cpu_has("abacus"));
}

TEST(FlushDenormals, LastsUntilTheEndOfItsScope) {
  volatile float small = 1e-30f;
  const auto product = [&] {
    volatile float tiny = small * 1e-10f;
    return tiny;
  };
  EXPECT_GT(product(), 0.0f);
  {
    const FlushDenormals flush;
    EXPECT_TRUE(product() == 0.0f || kernels().isa == "generic");  // not every processor can
  }
  EXPECT_GT(product(), 0.0f);
}

}  // namespace qkv::kernel::kernels_test
