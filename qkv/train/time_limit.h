// The end of a training by time: when it is reached, how many updates fit in what is left, and the learning rate that
// follows from that (train/timed_schedule.h).
//
//     TimeLimit limit({.seconds = 1800, .schedule = options.schedule_options(0)}, state);
//     while (!limit.reached()) {
//       update(limit.rate(n));
//       limit.spent(update_seconds);
//       limit.follow(n, elapsed);              // all seconds since the beginning: of validations and saves, too
//     }
//
// The last validation and the last save belong to the time: they are expected to take as long as the ones before.
// The state is stored with the training. It is fitted after updates 1, 2, 4, 8, ... and each hundredth of the time.
#pragma once

#include <cstdint>

#include "qkv/train/timed_schedule.h"

namespace qkv {

struct TimeLimitState {
  ScheduleFit fit = {};
  double fitted_at = 0;                             // elapsed seconds
  int64_t updates = 0;                              // measured
  double update_seconds = 0;                        // of one, a mean of about the last fifty
  double validation_seconds = 0, save_seconds = 0;  // of the last ones
  double reached = 0;                               // the limit at which the training ended; 0: none yet
  friend bool operator==(const TimeLimitState&, const TimeLimitState&) = default;
};

struct TimeLimitOptions {
  double seconds = 0;
  ScheduleOptions schedule = {};
  bool warmup_is_given = false;             // else it is a twelfth of the updates, at most schedule.warmup
  int64_t last_update = 0;                  // the training ends there at the latest; 0: no limit
  int64_t valid_every = 0, save_every = 0;  // 0: only at the end
};

class TimeLimit {
 public:
  // The state must outlive it.
  TimeLimit(const TimeLimitOptions& options, TimeLimitState& state);

  double rate(int64_t n) const { return schedule_.rate(n); }
  // A training without a limit has come to update n, by this fraction of the time: its warm-up, if that is over, is
  // not repeated.
  void enter(int64_t n, double elapsed);
  void spent(double update_seconds);
  void validated(double seconds) { state_.validation_seconds = seconds; }
  void saved(double seconds) { state_.save_seconds = seconds; }
  void follow(int64_t n, double elapsed);
  bool reached() const { return state_.reached >= options_.seconds; }

 private:
  double left(double elapsed) const;  // for updates, and the validations and saves between them
  double seconds_per_update() const;
  int64_t last_update(int64_t n, double elapsed) const;  // as estimated
  bool due(int64_t n, double elapsed) const;
  void fit(int64_t n, double elapsed);

  TimeLimitOptions options_;
  TimeLimitState& state_;
  TimedSchedule schedule_;
};

}  // namespace qkv
