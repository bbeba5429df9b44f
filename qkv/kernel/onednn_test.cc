#include "qkv/kernel/onednn.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <oneapi/dnnl/dnnl.h>

#include "qkv/base/threads.h"

namespace qkv::kernel {
namespace {

TEST(OneDnn, IsBoundByThePinnedInstructionSet) {
  const float one = 1.0f;
  float c = 0.0f;
  onednn::multiply(Matrix(&one, 1, 1), Matrix(&one, 1, 1), &c, 1, false);
  EXPECT_EQ(c, 1.0f);
  const char* pinned = std::getenv("QKV_ISA");
  if (pinned == nullptr) return;
#if defined(__x86_64__)
  if (std::string(pinned) == "generic") {
    EXPECT_EQ(dnnl_get_effective_cpu_isa(), dnnl_cpu_isa_sse41);
  }
  if (std::string(pinned) == "avx2") {
    EXPECT_EQ(dnnl_get_effective_cpu_isa(), dnnl_cpu_isa_avx2);
  }
  if (std::string(pinned) == "avx512") {
    EXPECT_GE(dnnl_get_effective_cpu_isa(), dnnl_cpu_isa_avx512_core);
  }
#endif
}

TEST(OneDnn, LeavesTheNumberOfThreadsAlone) {
  const int before = threads();
  set_threads(3);
  const float one = 1.0f;
  float c = 0.0f;
  onednn::multiply(Matrix(&one, 1, 1), Matrix(&one, 1, 1), &c, 1, false);
  EXPECT_EQ(threads(), 3);
  set_threads(before);
}

}  // namespace
}  // namespace qkv::kernel
