#include "qkv/op/rotary.h"

#include <complex>

#include "qkv/test_support/gradient_check.h"

namespace qkv::rotary_test {

using namespace test;

// Two columns are a complex number, and a rotation is a product.
std::vector<double> formula(const std::vector<double>& x, int64_t T, int64_t D, const RotaryOptions& o) {
  std::vector<double> y = x;
  const int64_t d = o.width == 0 ? D : o.width;
  for (int64_t row = 0; row < static_cast<int64_t>(x.size()) / D; ++row)
    for (int64_t c = 0; c < d / 2; ++c) {
      const int64_t a = row * D + (o.interleaved ? 2 * c : c), b = o.interleaved ? a + 1 : a + d / 2;
      const double frequency = o.frequencies.empty() ? std::pow(o.base, -2.0 * c / d) : o.frequencies[c];
      const std::complex<double> rotated =
          std::complex(x[a], x[b]) * std::polar(o.multiplier, static_cast<double>(row % T + o.offset) * frequency);
      y[a] = rotated.real();
      y[b] = rotated.imag();
    }
  return y;
}

void check_rotary(const Shape& shape, const RotaryOptions& o) {
  check_op(
      to_string(shape), {random_tensor(shape, 1)}, [&](const Variables& v) { return rotary(v[0], o); },
      [&](const Doubles& d) { return formula(d[0], shape.dim(2), shape.dim(3), o); });
}

TEST(Rotary, EqualsItsFormula) {
  for (const Shape& shape : {Shape{2, 3, 5, 8}, {1, 1, 1, 2}, {2, 1, 4, 6}, {1, 2, 0, 4}})
    for (const RotaryOptions& o :
         {RotaryOptions{}, {.interleaved = true}, {.offset = 37}, {.interleaved = true, .base = 500, .offset = 2}})
      check_rotary(shape, o);
}

TEST(Rotary, PartialWidthLeavesTheRestUnchanged) {
  for (const Shape& shape : {Shape{2, 3, 5, 8}, {2, 1, 4, 7}})
    for (const bool interleaved : {false, true})
      for (const int64_t width : {2, 4, 6})
        check_rotary(shape, {.interleaved = interleaved, .base = 100, .offset = 3, .width = width});
  const Tensor x = random_tensor({1, 2, 3, 8}, 1), y = rotary(x, {.width = 4}).value();
  EXPECT_TRUE(same_bits(y.slice(3, 4, 8).contiguous_copy(), x.slice(3, 4, 8).contiguous_copy()));
}

TEST(Rotary, TakesFrequenciesAndAMultiplier) {
  for (const bool interleaved : {false, true}) {
    check_rotary({2, 3, 5, 8}, {.interleaved = interleaved, .frequencies = {1, 0, -0.25, 3}, .multiplier = 1.25});
    check_rotary({2, 3, 5, 8},
                 {.interleaved = interleaved, .offset = 9, .width = 4, .frequencies = {0.5, 2}, .multiplier = 0.5});
  }
}

TEST(Rotary, ASinglePositionHasTheBitsOfTheWholeSequence) {
  const RotaryOptions o = {.width = 6, .frequencies = {1, 0.3, 0.01}, .multiplier = 1.2};
  const Tensor x = random_tensor({2, 3, 50, 8}, 1), whole = rotary(x, o).value();
  for (const int64_t t : {0, 1, 17, 49}) {
    RotaryOptions step = o;
    step.offset = t;
    EXPECT_TRUE(same_bits(rotary(x.slice(2, t, t + 1).contiguous_copy(), step).value().contiguous_copy(),
                          whole.slice(2, t, t + 1).contiguous_copy()))
        << "position " << t;
  }
}

TEST(Rotary, AScoreDependsOnTheDistanceAlone) {
  const Tensor q = random_tensor({1, 1, 1, 16}, 1), k = random_tensor({1, 1, 1, 16}, 2);
  const auto score = [&](int64_t i, int64_t j) {
    const std::vector<double> a = doubles(rotary(q, {.offset = i}).value()),
                              b = doubles(rotary(k, {.offset = j}).value());
    double sum = 0;
    for (size_t d = 0; d < a.size(); ++d) sum += a[d] * b[d];
    return sum;
  };
  EXPECT_NEAR(score(5, 2), score(1005, 1002), 1e-5);
  EXPECT_GT(std::abs(score(5, 2) - score(5, 3)), 1e-3);
}

TEST(Rotary, KeepsTheMemoryOrderOfSplitHeads) {
  const Variable x = random_tensor({2, 5, 3, 8}, 1);  // (B,T,H,D)
  const Tensor y = rotary(x.value().transpose(1, 2)).value();
  EXPECT_TRUE(y.transpose(1, 2).contiguous());
}

TEST(Rotary, RejectsInvalidShapesAndOptions) {
  EXPECT_EQ(error_of([] {
              rotary(Tensor::zeros({1, 2, 3, 5}));
            }),
            "rotary: q must be (B,H,T,D) with an even D, got (B 1, H 2, T 3, D 5)");
  EXPECT_EQ(error_of([] {
              rotary(Tensor::zeros({1, 2, 3, 4}), {.base = 0});
            }),
            "rotary: the base must be a positive number, got 0");
  const Tensor q = Tensor::zeros({1, 2, 3, 8});
  for (const int64_t width : {3, 10, -2})
    EXPECT_EQ(error_of([&] { rotary(q, {.width = width}); }),
              fmt::format("rotary: the width must be even and at most D 8, or 0 for D, got {}", width));
  EXPECT_EQ(error_of([&] {
              rotary(q, {.width = 4, .frequencies = {1, 2, 3}});
            }),
            "rotary: expected 2 frequencies for the width 4, got 3");
  EXPECT_EQ(error_of([&] { rotary(q, {.multiplier = std::numeric_limits<double>::infinity()}); }),
            "rotary: the multiplier must be finite, got inf");
}

}  // namespace qkv::rotary_test
