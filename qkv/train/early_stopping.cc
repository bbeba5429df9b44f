#include "qkv/train/early_stopping.h"

#include <cmath>

namespace qkv {

bool EarlyStopping::better(double score) const {
  if (std::isnan(score)) return false;
  if (!state_.best) return true;
  return options_.larger_is_better ? score > *state_.best : score < *state_.best;
}

bool EarlyStopping::offer(double score, int64_t step) {
  if (!better(score)) {
    ++state_.since;
    return false;
  }
  state_ = {.best = score, .best_step = step, .since = 0};
  return true;
}

}  // namespace qkv
