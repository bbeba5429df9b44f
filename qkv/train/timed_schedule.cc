#include "qkv/train/timed_schedule.h"

#include <algorithm>
#include <cmath>

namespace qkv {

TimedSchedule::TimedSchedule(const ScheduleOptions& options, ScheduleFit& fit) : options_(options), fit_(fit) {
  if (fit_.end == 0) fit_.end = std::max<int64_t>(1, options.warmup);
}

double TimedSchedule::line(int64_t n) const {
  const double span = static_cast<double>(std::max<int64_t>(1, fit_.end - fit_.begin));
  return std::min(1.0, fit_.value + (1 - fit_.value) * static_cast<double>(n - fit_.begin) / span);
}

double TimedSchedule::rate(int64_t n) const {
  const double peak = options_.kind == ScheduleKind::noam
                          ? options_.peak / std::sqrt(static_cast<double>(options_.d_model) *
                                                      static_cast<double>(fit_.decays ? fit_.warmup : fit_.end))
                          : options_.peak;
  if (!fit_.decays) return peak * line(n);
  switch (options_.kind) {
    case ScheduleKind::noam:
    case ScheduleKind::inverse_sqrt:
      return peak * std::sqrt(static_cast<double>(fit_.warmup) / static_cast<double>(n));
    default: return peak * decay(options_.kind, line(n));
  }
}

void TimedSchedule::fit(int64_t n, const Estimate& estimate) {
  fit_.value = line(n);
  fit_.begin = n;
  if (!fit_.decays && (n >= estimate.warmup || fit_.value >= 1)) {
    fit_.decays = true;
    fit_.warmup = std::max<int64_t>(1, n);
    fit_.value = 0;
  }
  fit_.end = std::max(n + 1, fit_.decays ? estimate.last : estimate.warmup);
}

}  // namespace qkv
