// The learning rate of a training that ends at a time: the number of its updates is estimated from their measured
// speed, and fitted again and again.
//
//     warm-up:  peak y,          y from 0 to 1                      the kinds and their formulas: train/schedule.h
//     decay:    peak decay(x),   x from 0 to 1 (cosine, linear)
//
// y and x are lines that begin where the last fit was made and end at the estimated update:
//
//     line(n) = value + (1 - value) (n - begin) / (end - begin)
//
// A fit moves only the end of the line: the rate never jumps, and it reaches its end with the time, however often the
// speed changes. Between two fits the rate is a function of the fit, which is stored with the training.
//
//     TimedSchedule schedule({.kind = ScheduleKind::linear, .peak = 4e-3}, fit);
//     schedule.fit(n, {.warmup = 80, .last = 1000});                    // after update n
//     adam.step(schedule.rate(n + 1));
#pragma once

#include <cstdint>

#include "qkv/train/schedule.h"

namespace qkv {

struct ScheduleFit {
  bool decays = false;  // the warm-up is over
  int64_t begin = 0, end = 0;
  double value = 0;    // of the line, at `begin`
  int64_t warmup = 0;  // its last update, once it is over
  friend bool operator==(const ScheduleFit&, const ScheduleFit&) = default;
};

class TimedSchedule {
 public:
  // The steps of the options are not used. `fit` must outlive the schedule. One with end 0 begins a warm-up of
  // options.warmup updates.
  TimedSchedule(const ScheduleOptions& options, ScheduleFit& fit);

  double rate(int64_t n) const;

  struct Estimate {
    int64_t warmup = 0, last = 0;  // the last updates of the warm-up and of the training
  };
  void fit(int64_t n, const Estimate& estimate);

 private:
  double line(int64_t n) const;

  ScheduleOptions options_;
  ScheduleFit& fit_;
};

}  // namespace qkv
