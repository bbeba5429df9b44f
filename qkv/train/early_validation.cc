#include "qkv/train/early_validation.h"

#include <algorithm>

namespace qkv {

bool early_validation_is_due(const std::vector<double>& times, const TrainedTime& time) {
  return std::any_of(times.begin(), times.end(), [&](double at) {
    return time.before < at && time.now >= at && !(time.last_validation && *time.last_validation > at / 2);
  });
}

}  // namespace qkv
