// The first validations of a training, by time: a user sees within minutes whether it learns, long before the first
// regular validation of a slow training.
//
//     if (early_validation_is_due({60, 120, 240}, {.before = 59.2, .now = 60.1})) validate_early();
#pragma once

#include <optional>
#include <vector>

namespace qkv {

struct TrainedTime {                           // seconds spent on updates
  double before = 0, now = 0;                  // before and after the last update
  std::optional<double> last_validation = {};  // of this process
};

// Whether the last update has passed one of the times, unless a validation was made in the last half of it.
bool early_validation_is_due(const std::vector<double>& times, const TrainedTime& time);

}  // namespace qkv
