#include "qkv/attention/modify/alibi.h"

#include <bit>
#include <cmath>

#include "qkv/base/error.h"

namespace qkv {

std::vector<float> alibi_slopes(int64_t heads) {
  require(heads >= 1, "alibi_slopes", "needs at least one head, got {}", heads);
  const auto slope = [](int64_t h, int64_t H) {
    return static_cast<float>(std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(H)));
  };
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  std::vector<float> slopes;
  for (int64_t h = 0; h < power; ++h) slopes.push_back(slope(h, power));
  for (int64_t h = power; h < heads; ++h) slopes.push_back(slope(2 * (h - power), 2 * power));
  return slopes;
}

}  // namespace qkv
