#include "qkv/train/schedule.h"

#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::schedule_test {

TEST(Schedule, NoamIsTheFormulaOfThePaper) {
  const Schedule s({.kind = ScheduleKind::noam, .warmup = 4000, .d_model = 512});
  for (const int64_t n : {1, 2, 100, 3999, 4000, 4001, 100'000}) {
    const double x = static_cast<double>(n);
    EXPECT_DOUBLE_EQ(s.rate(n), std::pow(512, -0.5) * std::min(std::pow(x, -0.5), x * std::pow(4000, -1.5))) << n;
  }
}

TEST(Schedule, WarmsUpInEqualSteps) {
  for (const ScheduleKind kind : {ScheduleKind::inverse_sqrt, ScheduleKind::cosine, ScheduleKind::linear,
                                  ScheduleKind::constant, ScheduleKind::wsd}) {
    const Schedule s({.kind = kind, .peak = 0.5, .warmup = 10, .steps = 100});
    EXPECT_DOUBLE_EQ(s.rate(1), 0.05) << name_of(kind);
    EXPECT_DOUBLE_EQ(s.rate(7), 0.35) << name_of(kind);
    EXPECT_DOUBLE_EQ(s.rate(10), 0.5) << name_of(kind);
  }
}

TEST(Schedule, FallsAsItsNameImplies) {
  const auto rate = [](ScheduleKind kind, int64_t n) {
    return Schedule({.kind = kind, .peak = 2, .warmup = 10, .steps = 110}).rate(n);
  };
  EXPECT_DOUBLE_EQ(rate(ScheduleKind::inverse_sqrt, 40), 1);
  EXPECT_DOUBLE_EQ(rate(ScheduleKind::cosine, 60), 1);
  EXPECT_NEAR(rate(ScheduleKind::cosine, 110), 0, 1e-15);
  EXPECT_DOUBLE_EQ(rate(ScheduleKind::wsd, 35), 2);
  EXPECT_NEAR(rate(ScheduleKind::wsd, 90), 2, 1e-12);
  EXPECT_NEAR(rate(ScheduleKind::wsd, 105), 2 * (1 - std::sqrt(0.75)), 1e-12);
  EXPECT_NEAR(rate(ScheduleKind::wsd, 110), 0, 1e-12);
  EXPECT_DOUBLE_EQ(rate(ScheduleKind::linear, 35), 1.5);
  EXPECT_DOUBLE_EQ(rate(ScheduleKind::linear, 110), 0);
  EXPECT_DOUBLE_EQ(rate(ScheduleKind::linear, 200), 0);  // after the end
  EXPECT_DOUBLE_EQ(rate(ScheduleKind::constant, 1000), 2);
}

TEST(Schedule, NeedsNoWarmUp) {
  EXPECT_DOUBLE_EQ(Schedule({.kind = ScheduleKind::linear, .peak = 1, .warmup = 0, .steps = 10}).rate(1), 0.9);
  EXPECT_DOUBLE_EQ(Schedule({.kind = ScheduleKind::inverse_sqrt, .peak = 1, .warmup = 0}).rate(4), 0.5);
  EXPECT_DOUBLE_EQ(Schedule({.kind = ScheduleKind::noam, .warmup = 0, .d_model = 4}).rate(1), 0.5);
}

TEST(Schedule, RejectsInvalidOptions) {
  EXPECT_THROW(Schedule({.peak = -1}), UsageError);
  EXPECT_THROW(Schedule({.warmup = -1}), UsageError);
  EXPECT_THROW(Schedule({.kind = ScheduleKind::linear}), UsageError);  // of how many steps?
}

}  // namespace qkv::schedule_test
