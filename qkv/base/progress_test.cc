#include "qkv/base/progress.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace qkv::progress_test {

const ProgressStatus status = {.fraction = 0.5,
                               .parts = {{"step 50/100"},
                                         {"epoch 2", 3},
                                         {"loss 3.413", 2},
                                         {"lr 4.2e-04", 5},
                                         {"9.8k tokens/s", 4},
                                         {"4m 12s left", 1}}};

TEST(Progress, WritesTimesAndCountsBriefly) {
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

TEST(Progress, HasABarWhereThereIsRoomAndTheEndIsKnown) {
  const std::string all = "step 50/100  epoch 2  loss 3.413  lr 4.2e-04  9.8k tokens/s  4m 12s left";
  EXPECT_EQ(format_progress(status, 120), "[==========>         ] " + all);
  EXPECT_EQ(format_progress(status, {}), all) << "not on a terminal";
  EXPECT_EQ(format_progress({.parts = status.parts}, 120), all);
  EXPECT_EQ(format_progress({.fraction = 1.0, .parts = {{"done"}}}, 120), "[====================] done");
  EXPECT_EQ(format_progress({.fraction = 7.0, .parts = {{"done"}}}, 120), "[====================] done");
}

TEST(Progress, DropsTheLeastImportantPartsFirst) {
  EXPECT_EQ(format_progress(status, 70), "step 50/100  epoch 2  loss 3.413  9.8k tokens/s  4m 12s left");
  EXPECT_EQ(format_progress(status, 50), "step 50/100  epoch 2  loss 3.413  4m 12s left");
  EXPECT_EQ(format_progress(status, 37), "step 50/100  loss 3.413  4m 12s left");
  EXPECT_EQ(format_progress(status, 20), "step 50/100");
  EXPECT_EQ(format_progress(status, 8), "step 50");
}

TEST(Progress, NeverFillsTheLastColumn) {
  for (int64_t columns = 1; columns < 140; ++columns)
    EXPECT_LT(static_cast<int64_t>(format_progress(status, columns).size()), columns);
  EXPECT_EQ(format_progress(status, 0), "");
}

}  // namespace qkv::progress_test
