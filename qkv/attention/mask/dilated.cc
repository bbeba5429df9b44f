#include "qkv/attention/mask/dilated.h"

#include <algorithm>

#include "qkv/attention/mask/every.h"
#include "qkv/attention/mask/window.h"
#include "qkv/base/error.h"

namespace qkv {

MaskPtr dilated(int64_t radius, int64_t dilation) {
  constexpr int64_t limit = int64_t{1} << 20;
  require(radius >= 0 && radius < limit && dilation > 0 && dilation < limit, "dilated",
          "the radius must be 0 to {0}, the dilation 1 to {0}; got ({1}, {2})", limit - 1, radius, dilation);
  const MaskPtr near = window(radius * dilation);
  return dilation == 1 ? near : near & every(dilation);
}

}  // namespace qkv
