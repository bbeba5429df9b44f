#include "qkv/train/stop_reason.h"

#include "qkv/base/peak_memory.h"

namespace qkv {

EarlyStoppingOptions stopping_options(const TrainOptions& options) {
  return {.patience = options.patience, .larger_is_better = options.patience_on == Goal::bleu};
}

std::optional<StopReason> stop_reason_of(const TrainOptions& options, const TrainingState& state) {
  if (options.max_steps > 0 && state.step >= options.max_steps) return StopReason::max_steps;
  if (options.max_epochs > 0 && state.position.epoch >= options.max_epochs) return StopReason::max_epochs;
  if (options.max_time.count() > 0 && state.time.reached >= options.max_time.count()) return StopReason::max_time;
  if (EarlyStopping(stopping_options(options), state.best).exhausted()) return StopReason::patience;
  return {};
}

bool is_finished(const TrainOptions& options, const TrainingState& state) {
  return state.finished && stop_reason_of(options, state) &&
         train_options_from_json(state.options, "training").average == options.average;
}

TrainResult result_of(const TrainingState& state, StopReason stop_reason) {
  return {.stop_reason = stop_reason,
          .steps = state.step,
          .epochs = state.position.epoch,
          .loss = window_loss(state),
          .validation = state.best_validation,
          .best_step = state.best.best_step,
          .seconds = state.seconds,
          .tokens_per_s = state.seconds > 0 ? static_cast<double>(state.tokens) / state.seconds : 0,
          .peak_bytes = peak_memory()};
}

double window_loss(const TrainingState& state) {
  return state.window.tokens > 0 ? state.window.loss_sum / static_cast<double>(state.window.tokens) : state.loss;
}

}  // namespace qkv
