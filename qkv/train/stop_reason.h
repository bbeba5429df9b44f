// When a training ends, and its result.
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
// Ended, with everything that is done at the end.
bool is_finished(const TrainOptions& options, const TrainingState& state);

// The loss per target token since the last line of log.jsonl; right after that line, the loss in it.
double window_loss(const TrainingState& state);
TrainResult result_of(const TrainingState& state, StopReason stop_reason);

}  // namespace qkv
