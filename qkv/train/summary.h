// The settings of a training that matter most, each named after its flag, with the values chosen for those not given.
//
//     for (const std::string& line : settings_summary(options, {.last_update = 5000})) print(line);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qkv/train/options.h"

namespace qkv {

struct TrainingSize {
  int64_t last_update = 0;  // 0: unknown
  int64_t batches_in_epoch = 0;
  bool validates = false;
};

std::vector<std::string> settings_summary(const TrainOptions& options, const TrainingSize& size);

}  // namespace qkv
