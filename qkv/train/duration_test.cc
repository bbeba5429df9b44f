#include "qkv/train/duration.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::duration_test {

double seconds(const char* text) { return seconds_from_text(text, "train", "max-time").count(); }

TEST(Duration, IsReadWithItsUnits) {
  EXPECT_EQ(seconds("90s"), 90);
  EXPECT_EQ(seconds("30m"), 1800);
  EXPECT_EQ(seconds("2h"), 7200);
  EXPECT_EQ(seconds("1d"), 86400);
  EXPECT_EQ(seconds("1h30m"), 5400);
  EXPECT_EQ(seconds("1.5h"), 5400);
  EXPECT_EQ(seconds("0"), 0);
}

TEST(Duration, IsReadAgainFromItsText) {
  for (const char* text : {"0", "90s", "30m", "2h", "1h30m", "1d2h3m4s"})
    EXPECT_EQ(seconds(duration_text(Seconds(seconds(text))).c_str()), seconds(text)) << text;
  EXPECT_EQ(duration_text(std::chrono::minutes(90)), "1h30m");
  EXPECT_EQ(duration_text(Seconds(0.25)), "0.25s");
}

TEST(Duration, WithoutAUnitOrWithAnUnknownOneIsRefused) {
  for (const char* text : {"", "90", "m", "30x", "-5m", "30m ", "1h30", "nan", "infs", "99999999d"})
    EXPECT_THROW(seconds(text), UsageError) << text;
}

}  // namespace qkv::duration_test
