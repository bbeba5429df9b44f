#include "qkv/op/position.h"

#include "qkv/test_support/gradient_check.h"

namespace qkv {
namespace {

using namespace test;

TEST(Sinusoidal, IsItsFormulaForEvenAndOddWidths) {
  for (const int64_t width : {1, 2, 7, 16}) {
    std::vector<double> wanted;
    for (int64_t p = 3; p < 23; ++p)
      for (int64_t c = 0; c < width; ++c) {
        const double angle = static_cast<double>(p) * std::exp(-std::log(10000.0) * (c - c % 2) / width);
        wanted.push_back(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    expect_close(sinusoidal(20, width, 3), wanted, 1e-7, std::to_string(width));
  }
}

TEST(Sinusoidal, KeepsItsDigitsFarOut) {
  const Tensor y = sinusoidal(1, 2, 1000000);
  EXPECT_FLOAT_EQ(y.at<float>({0, 0}), static_cast<float>(std::sin(1e6)));
  EXPECT_FLOAT_EQ(y.at<float>({0, 1}), static_cast<float>(std::cos(1e6)));
}

TEST(Sinusoidal, SaysWhatIsWrong) {
  EXPECT_EQ(sinusoidal(0, 4).shape(), (Shape{0, 4}));
  EXPECT_EQ(error_of([] { sinusoidal(-1, 4); }),
            "sinusoidal: expected length >= 0, width >= 1 and first >= 0, got length -1, width 4, first 0");
  EXPECT_NE(error_of([] { sinusoidal(1, 0); }), "no error");
  EXPECT_NE(error_of([] { sinusoidal(1, 4, -1); }), "no error");
}

}  // namespace
}  // namespace qkv
