#include "qkv/base/setting.h"

#include <cmath>

#include <gtest/gtest.h>

namespace qkv::setting_test {

struct Options {
  int64_t beam = 4;
  double rate = 0.5;
  float share = 0.5f;
  std::chrono::duration<double> time{0};
  bool flag = true;
  std::string text = "far";
};

void visit(const Options& o, const CheckRanges& check) {
  check(Setting{"beam", "N", "", {.from = 1, .to = 256}}, o.beam);
  check(Setting{"rate", "RATE", "", {.from = 0, .below = 1}}, o.rate, "more of the row");
  check(Setting{"share", "FRACTION", "", {.above = 0, .to = 1}}, o.share);
  check(Setting{"time", "TIME", "", {.from = 0}}, o.time);
  check(Setting{"flag", "", "", {.from = 7}}, o.flag);
  check(Setting{"text", "", "", {.from = 7}}, o.text);
}

std::string error_of(const Options& options) {
  try {
    visit(options, CheckRanges{"test"});
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(Setting, BoundsOfARangeAreInItUnlessExcluded) {
  for (const Options& good :
       {Options{}, Options{.beam = 1}, Options{.beam = 256}, Options{.rate = 0}, Options{.share = 1}})
    EXPECT_EQ(error_of(good), "");
  EXPECT_EQ(error_of({.beam = 0}), "test: beam must be 1 to 256, got 0");
  EXPECT_EQ(error_of({.beam = INT64_MAX}), "test: beam must be 1 to 256, got 9223372036854775807");
  EXPECT_EQ(error_of({.rate = 1}), "test: rate must be at least 0 and less than 1, got 1");
  EXPECT_EQ(error_of({.share = 0}), "test: share must be above 0 and at most 1, got 0");
  EXPECT_EQ(error_of({.time = std::chrono::duration<double>(-0.5)}), "test: time must be at least 0, got -0.5");
}

TEST(Setting, OnlyFiniteNumbersAreInARange) {
  EXPECT_EQ(error_of({.rate = std::nan("")}), "test: rate must be at least 0 and less than 1, got nan");
  EXPECT_EQ(error_of({.time = std::chrono::duration<double>(INFINITY)}), "test: time must be at least 0, got inf");
  EXPECT_FALSE(Range{}.contains(INFINITY));
  EXPECT_FALSE(Range{}.contains(NAN));
  EXPECT_TRUE(Range{}.contains(-1e300));
}

TEST(Setting, ARangeIsWrittenInWords) {
  EXPECT_EQ(to_string(Range{}), "a finite number");
  EXPECT_EQ(to_string(Range{.from = 2}), "at least 2");
  EXPECT_EQ(to_string(Range{.above = 0, .below = 1}), "above 0 and less than 1");
  EXPECT_EQ(to_string(Range{.to = 16777216}), "at most 16777216");
  EXPECT_EQ(to_string(Range{.from = 0.01, .to = 1e6}), "0.01 to 1000000");
}

}  // namespace qkv::setting_test
