#include "qkv/train/time_limit.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace qkv {
namespace {

constexpr double fits = 100;          // in the whole time
constexpr int64_t averaged = 50;      // updates
constexpr int64_t warmup_share = 12;  // of the updates, as TrainOptions::warmup_updates()

}  // namespace

TimeLimit::TimeLimit(const TimeLimitOptions& options, TimeLimitState& state)
    : options_(options), state_(state), schedule_(options.schedule, state.fit) {}

void TimeLimit::enter(int64_t n, double elapsed) {
  const double progress = std::min(0.99, elapsed / options_.seconds) * warmup_share;
  state_.fit.decays = n >= options_.schedule.warmup || progress >= 1;
  state_.fit.warmup = state_.fit.decays ? std::clamp<int64_t>(options_.schedule.warmup, 1, n) : 0;
  state_.fit.value = state_.fit.decays ? std::max(0.0, (progress - 1) / (warmup_share - 1)) : progress;
  state_.fit.begin = n;
  state_.fit.end = n + 1000;  // until the first fit, an update from now
}

void TimeLimit::spent(double update_seconds) {
  const double weight = 1 / static_cast<double>(std::min(averaged, ++state_.updates));
  state_.update_seconds += weight * (update_seconds - state_.update_seconds);
}

void TimeLimit::follow(int64_t n, double elapsed) {
  if (left(elapsed) < seconds_per_update() / 2) {
    state_.reached = options_.seconds;
  } else if (due(n, elapsed)) {
    fit(n, elapsed);
  }
}

double TimeLimit::left(double elapsed) const {
  return options_.seconds - elapsed - state_.validation_seconds - state_.save_seconds;
}

double TimeLimit::seconds_per_update() const {
  const auto share = [](double seconds, int64_t every) {
    return every > 0 ? seconds / static_cast<double>(every) : 0;
  };
  return state_.update_seconds + share(state_.validation_seconds, options_.valid_every) +
         share(state_.save_seconds, options_.save_every);
}

int64_t TimeLimit::last_update(int64_t n, double elapsed) const {
  const double updates = std::min(1e15, left(elapsed) / std::max(1e-9, seconds_per_update()));
  const int64_t last = n + std::max<int64_t>(1, std::llround(updates));
  return options_.last_update > 0 ? std::min(last, options_.last_update) : last;
}

bool TimeLimit::due(int64_t n, double elapsed) const {
  const bool early = state_.updates <= 1 || (n <= 1024 && std::has_single_bit(static_cast<uint64_t>(n)));
  return early || n >= state_.fit.end || elapsed - state_.fitted_at >= options_.seconds / fits;
}

void TimeLimit::fit(int64_t n, double elapsed) {
  const int64_t last = last_update(n, elapsed);
  const int64_t warmup = options_.warmup_is_given
                             ? options_.schedule.warmup
                             : std::clamp<int64_t>(last / warmup_share, 1, options_.schedule.warmup);
  schedule_.fit(n, {.warmup = warmup, .last = last});
  state_.fitted_at = elapsed;
}

}  // namespace qkv
