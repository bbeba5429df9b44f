#include "qkv/attention/modify/relative_buckets.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "qkv/base/error.h"

namespace qkv {

int64_t relative_bucket(int64_t distance, const RelativeBuckets& options) {
  const int64_t N = options.bidirectional ? options.num_buckets / 2 : options.num_buckets;
  const int64_t near = N / 2;
  require(near >= 1, "relative_bucket", "num_buckets must be at least {}, got {}", options.bidirectional ? 4 : 2,
          options.num_buckets);
  require(options.max_distance > near, "relative_bucket",
          "max_distance must exceed {}, the number of distances with a bucket each; got {}", near,
          options.max_distance);
  const int64_t start = options.bidirectional && distance > 0 ? N : 0;
  const int64_t n = options.bidirectional ? std::abs(distance) : std::max<int64_t>(-distance, 0);
  if (n < near) return start + n;
  const auto log_of = [near](int64_t x) { return std::log(static_cast<double>(x) / static_cast<double>(near)); };
  const double steps = log_of(n) / log_of(options.max_distance) * static_cast<double>(N - near);
  // 1e-9: a quotient that is an integer may be rounded to just below it.
  return start + std::min(N - 1, near + static_cast<int64_t>(std::floor(steps + 1e-9)));
}

}  // namespace qkv
