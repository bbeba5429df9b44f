#include "qkv/attention/mask/strided.h"

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/every.h"
#include "qkv/attention/mask/window.h"
#include "qkv/base/error.h"

namespace qkv {

MaskPtr strided(int64_t stride) {
  require(stride > 0 && stride < int64_t{1} << 40, "strided", "the stride must be positive and below 2^40, got {}",
          stride);
  return window(stride - 1, 0) | (causal() & every(stride));
}

}  // namespace qkv
