// Learning-rate schedules. n counts updates from 1, w is the length of the warm-up, N the last update:
//
//     noam          factor C^(-1/2) min(n^(-1/2), n w^(-3/2))            Vaswani et al., 2017, section 5.3
//     inverse-sqrt  peak min(n / w, sqrt(w / n))                         the same curve, named by its peak
//     cosine        warm-up, then peak (1 + cos(pi x)) / 2               Loshchilov and Hutter, 2017
//     linear        warm-up, then peak (1 - x)                           x = (n - w) / (N - w), at most 1
//     constant      warm-up, then peak                                   the warm-up is peak n / w
//     wsd           warm-up, then peak, and from x = 0.8 on peak (1 - sqrt((x - 0.8) / 0.2)): warm-up, stable, decay
//                                                                        Hu et al., 2024; Haegele et al., 2024
//
//     Schedule schedule({.kind = ScheduleKind::linear, .peak = 4e-3, .warmup = 100, .steps = 800});
//     adam.step(schedule.rate(n));
#pragma once

#include <cstdint>

#include "qkv/base/names.h"

namespace qkv {

enum class ScheduleKind { noam, inverse_sqrt, cosine, linear, constant, wsd };
constexpr auto names_of(ScheduleKind) {
  return std::array{Named{ScheduleKind::noam, "noam"},         Named{ScheduleKind::inverse_sqrt, "inverse-sqrt"},
                    Named{ScheduleKind::cosine, "cosine"},     Named{ScheduleKind::linear, "linear"},
                    Named{ScheduleKind::constant, "constant"}, Named{ScheduleKind::wsd, "wsd"}};
}

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::noam;
  double peak = 1.0;      // noam: the factor
  int64_t warmup = 4000;  // updates; 0: none (noam: as 1)
  int64_t steps = 0;      // N, for cosine, linear and wsd
  int64_t d_model = 512;  // C, for noam
};

// The part of the peak at x of the decay, 0 to 1: of cosine, linear, wsd and constant.
double decay(ScheduleKind kind, double x);

class Schedule {
 public:
  explicit Schedule(const ScheduleOptions& options);  // UsageError for values out of range
  double rate(int64_t n) const;

 private:
  ScheduleOptions options_;
};

}  // namespace qkv
