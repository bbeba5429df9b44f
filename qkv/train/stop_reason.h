// When a training is over, and what it says then.
//
//     while (!stop_reason_of(options, state)) update();
//     return result_of(state, *stop_reason_of(options, state));
#pragma once

#include <optional>

#include "qkv/train/checkpoint.h"
#include "qkv/train/early_stopping.h"
#include "qkv/train/train.h"

namespace qkv {

EarlyStoppingOptions stopping_options(const TrainOptions& options);

std::optional<StopReason> stop_reason_of(const TrainOptions& options, const TrainingState& state);
// Over, and all that is done at the end was done.
bool is_finished(const TrainOptions& options, const TrainingState& state);

// Per target token, since the last line of the log; where that is now, in that line.
double window_loss(const TrainingState& state);
TrainResult result_of(const TrainingState& state, StopReason stop_reason);

}  // namespace qkv
