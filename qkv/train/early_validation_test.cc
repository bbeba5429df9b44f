#include "qkv/train/early_validation.h"

#include <gtest/gtest.h>

namespace qkv::early_validation_test {

const std::vector<double> times = {60, 120, 240};

TEST(EarlyValidation, IsDueWithTheUpdateThatPassesATime) {
  EXPECT_FALSE(early_validation_is_due(times, {.before = 58, .now = 59.9}));
  EXPECT_TRUE(early_validation_is_due(times, {.before = 59.9, .now = 60}));
  EXPECT_FALSE(early_validation_is_due(times, {.before = 60, .now = 61}));
  EXPECT_TRUE(early_validation_is_due(times, {.before = 0, .now = 300}));  // a single long update
  EXPECT_FALSE(early_validation_is_due(times, {.before = 240, .now = 1000}));
}

TEST(EarlyValidation, IsNotDueSoonAfterAnother) {
  EXPECT_FALSE(early_validation_is_due(times, {.before = 119, .now = 120, .last_validation = 100}));
  EXPECT_TRUE(early_validation_is_due(times, {.before = 119, .now = 120, .last_validation = 60}));
}

}  // namespace qkv::early_validation_test
