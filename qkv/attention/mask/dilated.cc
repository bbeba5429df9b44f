#include "qkv/attention/mask/dilated.h"

#include <algorithm>

#include "qkv/attention/mask/every.h"
#include "qkv/attention/mask/window.h"
#include "qkv/base/error.h"

namespace qkv {

MaskPtr dilated(int64_t reach, int64_t dilation) {
  constexpr int64_t most = int64_t{1} << 20;
  require(reach >= 0 && reach < most && dilation > 0 && dilation < most, "dilated",
          "the reach is a number of steps, and the dilation a positive number of positions; got ({}, {})", reach,
          dilation);
  const MaskPtr near = window(reach * dilation);
  return dilation == 1 ? near : near & every(dilation);
}

}  // namespace qkv
