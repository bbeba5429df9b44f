#include "qkv/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "qkv/base/error.h"

namespace qkv {

double decay(ScheduleKind kind, double x) {
  switch (kind) {
    case ScheduleKind::cosine: return (1 + std::cos(std::numbers::pi * x)) / 2;
    case ScheduleKind::linear: return 1 - x;
    case ScheduleKind::wsd: return 1 - std::sqrt(std::max(0.0, x - 0.8) / 0.2);
    default: return 1;
  }
}

Schedule::Schedule(const ScheduleOptions& options) : options_(options) {
  require<UsageError>(options.peak >= 0 && std::isfinite(options.peak), "schedule",
                      "learning-rate must be a number of at least 0, got {}", options.peak);
  require<UsageError>(options.warmup >= 0, "schedule", "warmup must be at least 0, got {}", options.warmup);
  require<UsageError>(options.d_model >= 1, "schedule", "d-model must be at least 1, got {}", options.d_model);
  const bool ends = options.kind == ScheduleKind::cosine || options.kind == ScheduleKind::linear ||
                    options.kind == ScheduleKind::wsd;
  require<UsageError>(!ends || options.steps >= 1, "schedule",
                      "schedule {} needs the number of updates: give max-steps", name_of(options.kind));
}

double Schedule::rate(int64_t step) const {
  const double n = static_cast<double>(std::max<int64_t>(1, step)), w = static_cast<double>(options_.warmup);
  const double start = std::max(1.0, w);
  if (options_.kind == ScheduleKind::noam) {
    return options_.peak / std::sqrt(static_cast<double>(options_.d_model)) *
           std::min(1 / std::sqrt(n), n * std::pow(start, -1.5));
  }
  if (n < w) return options_.peak * n / w;
  const double span = static_cast<double>(options_.steps) - w;
  const double x = span > 0 ? std::min(1.0, (n - w) / span) : 1.0;
  if (options_.kind == ScheduleKind::inverse_sqrt) return options_.peak * std::sqrt(start / n);
  return options_.peak * decay(options_.kind, x);
}

}  // namespace qkv
