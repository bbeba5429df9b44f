#include "qkv/train/progress.h"

#include <gtest/gtest.h>

namespace qkv {
namespace {

TEST(Progress, SaysTimesAndCountsShortly) {
  EXPECT_EQ(format_seconds(0.4), "0s");
  EXPECT_EQ(format_seconds(59.4), "59s");
  EXPECT_EQ(format_seconds(252), "4m 12s");
  EXPECT_EQ(format_seconds(2 * 3600 + 5 * 60), "2h 05m");
  EXPECT_EQ(format_seconds(3 * 86400 + 4 * 3600), "3d 04h");
  EXPECT_EQ(format_seconds(1.0 / 0.0), "?");
  EXPECT_EQ(format_count(950), "950");
  EXPECT_EQ(format_count(9840), "9.8k");
  EXPECT_EQ(format_count(1'200'000), "1.2M");
}

TEST(Progress, DrawsABarOnlyWhereItKnowsTheEnd) {
  ProgressLine line{.step = 50, .steps = 100, .epoch = 2, .loss = 3.4125, .rate = 4.2e-4, .tokens_per_s = 9800};
  EXPECT_EQ(format_progress(line, true),
            "[==========>         ] step 50/100  epoch 2  loss 3.413  rate 4.2e-04  9.8k tokens/s");
  line.seconds_left = 252;
  EXPECT_EQ(format_progress(line, false),
            "step 50/100  epoch 2  loss 3.413  rate 4.2e-04  9.8k tokens/s  4m 12s left");
  line.steps = 0;
  line.seconds_left = {};
  EXPECT_EQ(format_progress(line, true), "step 50  epoch 2  loss 3.413  rate 4.2e-04  9.8k tokens/s");
  line.step = line.steps = 100;
  EXPECT_EQ(format_progress(line, true).substr(0, 22), "[====================]");
}

}  // namespace
}  // namespace qkv
