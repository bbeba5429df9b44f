#include "qkv/train/time_limit.h"

#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

namespace qkv::time_limit_test {

struct Training {
  double elapsed = 0;
  std::vector<double> rates;
  TimeLimitState state;

  int64_t updates() const { return static_cast<int64_t>(rates.size()); }
  double largest_change() const {
    double change = 0;
    for (size_t i = 1; i < rates.size(); ++i) change = std::max(change, std::abs(rates[i] - rates[i - 1]));
    return change;
  }
};

// Seconds of update n.
using Speed = std::function<double(int64_t n)>;

void train_until_the_limit(const TimeLimitOptions& options, const Speed& speed, Training& run,
                           int64_t at_most = 1 << 20) {
  TimeLimit limit(options, run.state);
  while (!limit.reached() && run.updates() < at_most) {
    const int64_t n = run.updates() + 1;
    run.rates.push_back(limit.rate(n));
    run.elapsed += speed(n);
    limit.spent(speed(n));
    if (options.valid_every > 0 && n % options.valid_every == 0) run.elapsed += 3, limit.validated(3);
    limit.follow(n, run.elapsed);
  }
}

Training trained(const TimeLimitOptions& options, const Speed& speed) {
  Training run;
  train_until_the_limit(options, speed, run);
  return run;
}

TimeLimitOptions an_hour(ScheduleKind kind = ScheduleKind::linear) {
  return {.seconds = 3600, .schedule = {.kind = kind, .peak = 1e-3, .warmup = 4000}};
}

TEST(TimeLimit, EndsAtTheTimeWithTheScheduleAtItsEnd) {
  for (const ScheduleKind kind : {ScheduleKind::linear, ScheduleKind::cosine}) {
    const Training run = trained(an_hour(kind), [](int64_t) { return 1.0; });
    EXPECT_NEAR(run.elapsed, 3600, 1);
    EXPECT_LT(run.rates.back(), 1e-5);
    EXPECT_NEAR(*std::max_element(run.rates.begin(), run.rates.end()), 1e-3, 1e-5);
    EXPECT_LT(run.rates.front(), 1e-5);                               // the warm-up begins at the bottom
    EXPECT_NEAR(static_cast<double>(run.state.fit.warmup), 300, 10);  // a twelfth
  }
}

TEST(TimeLimit, FollowsASpeedThatChangesWithoutAJumpOfTheRate) {
  const Training run = trained(an_hour(), [](int64_t n) { return n < 1000 ? 1.0 : n < 2000 ? 0.3 : 2.0; });
  EXPECT_NEAR(run.elapsed, 3600, 2);
  EXPECT_LT(run.rates.back(), 2e-5);
  EXPECT_LT(run.largest_change(), 2e-5);
}

TEST(TimeLimit, LeavesRoomForTheLastValidation) {
  TimeLimitOptions options = an_hour();
  options.valid_every = 100;
  const Training run = trained(options, [](int64_t) { return 0.5; });
  EXPECT_NEAR(run.elapsed + 3, 3600, 4);
}

TEST(TimeLimit, ReachesTheEndOfTheScheduleAtTheMaximumOfUpdatesIfThatIsFirst) {
  TimeLimitOptions options = an_hour();
  options.last_update = 1200;
  Training run;
  train_until_the_limit(
      options, [](int64_t) { return 1.0; }, run, 1200);
  EXPECT_EQ(run.rates.back(), 0);
  EXPECT_NEAR(static_cast<double>(run.state.fit.warmup), 100, 5);
}

TEST(TimeLimit, ContinuesFromItsStateWithTheSameRates) {
  const Speed speed = [](int64_t n) { return 1 + 0.5 * std::sin(static_cast<double>(n)); };
  const Training whole = trained(an_hour(), speed);
  Training parts;
  train_until_the_limit(an_hour(), speed, parts, 777);
  const TimeLimitState stored = parts.state;  // another process has it from a file
  parts.state = {};
  parts.state = stored;
  train_until_the_limit(an_hour(), speed, parts);
  EXPECT_EQ(parts.rates, whole.rates);
}

TEST(TimeLimit, GoesOnTowardsALongerLimit) {
  Training run = trained(an_hour(), [](int64_t) { return 1.0; });
  TimeLimitOptions longer = an_hour();
  longer.seconds = 7200;
  train_until_the_limit(
      longer, [](int64_t) { return 1.0; }, run);
  EXPECT_NEAR(run.elapsed, 7200, 1);
  EXPECT_LT(run.largest_change(), 2e-5);
}

TEST(TimeLimit, KeepsAGivenWarmUp) {
  TimeLimitOptions options = an_hour(ScheduleKind::inverse_sqrt);
  options.schedule.warmup = 50;
  options.warmup_is_given = true;
  const Training run = trained(options, [](int64_t) { return 1.0; });
  const Schedule schedule({.kind = ScheduleKind::inverse_sqrt, .peak = 1e-3, .warmup = 50});
  for (const int64_t n : {1, 10, 49, 51, 60, 3000})
    EXPECT_NEAR(run.rates[static_cast<size_t>(n - 1)], schedule.rate(n), 1e-9) << n;
}

}  // namespace qkv::time_limit_test
