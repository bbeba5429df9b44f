#include <cmath>

#include "qkv/kernel/row_kernels.h"

namespace qkv::kernel {

DropoutKey dropout_key(uint64_t seed, uint64_t stream, float rate) {
  const auto threshold = static_cast<uint32_t>(std::lround((1.0 - rate) * 65536.0));
  return {seed, stream, threshold, threshold == 0 ? 0.0f : static_cast<float>(65536.0 / threshold)};
}

}  // namespace qkv::kernel
