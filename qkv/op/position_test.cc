#include "qkv/op/position.h"

#include "qkv/test_support/gradient_check.h"

namespace qkv::position_test {

using namespace test;

TEST(Sinusoidal, EqualsItsFormulaForEvenAndOddWidths) {
  for (const int64_t width : {1, 2, 7, 16}) {
    std::vector<double> wanted;
    for (int64_t p = 3; p < 23; ++p)
      for (int64_t c = 0; c < width; ++c) {
        const double angle = static_cast<double>(p) * std::exp(-std::log(10000.0) * (c - c % 2) / width);
        wanted.push_back(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    expect_close(sinusoidal(20, width, {.first = 3}), wanted, 1e-7, std::to_string(width));
  }
}

// Frequencies 10000^(-2k/C), and 10000^(-k/(C/2-1)), which ends at 1/10000 exactly.
TEST(Sinusoidal, HasSinesAndCosinesInHalvesInTheOtherLayouts) {
  for (const SinusoidLayout layout : {SinusoidLayout::halves, SinusoidLayout::tensor2tensor})
    for (const int64_t width : {2, 4, 16}) {
      const int64_t half = width / 2;
      const double last = layout == SinusoidLayout::halves ? static_cast<double>(half) : half - 1.0;
      std::vector<double> wanted;
      for (int64_t p = 5; p < 12; ++p)
        for (int64_t c = 0; c < width; ++c) {
          const int64_t k = c % half;
          const double frequency = k == 0 ? 1.0 : std::exp(-std::log(10000.0) * static_cast<double>(k) / last);
          wanted.push_back(c < half ? std::sin(p * frequency) : std::cos(p * frequency));
        }
      expect_close(sinusoidal(7, width, {.layout = layout, .first = 5}), wanted, 1e-7,
                   std::string(name_of(layout)));
    }
}

TEST(Sinusoidal, IsAccurateAtLargePositions) {
  const Tensor y = sinusoidal(1, 2, {.first = 1000000});
  EXPECT_FLOAT_EQ(y.at<float>({0, 0}), static_cast<float>(std::sin(1e6)));
  EXPECT_FLOAT_EQ(y.at<float>({0, 1}), static_cast<float>(std::cos(1e6)));
}

TEST(Sinusoidal, RejectsInvalidLengthsAndWidths) {
  EXPECT_EQ(sinusoidal(0, 4).shape(), (Shape{0, 4}));
  EXPECT_EQ(error_of([] { sinusoidal(-1, 4); }),
            "sinusoidal: expected length >= 0, width >= 1 and first >= 0, got length -1, width 4, first 0");
  EXPECT_NE(error_of([] { sinusoidal(1, 0); }), "no error");
  EXPECT_EQ(error_of([] { sinusoidal(1, 5, {.layout = SinusoidLayout::halves}); }),
            "sinusoidal: the layout halves needs an even width, got 5");
  EXPECT_NE(error_of([] { sinusoidal(1, 4, {.first = -1}); }), "no error");
}

}  // namespace qkv::position_test
