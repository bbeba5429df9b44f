#include "qkv/op/rotary.h"

#include <complex>

#include "qkv/test_support/gradient_check.h"

namespace qkv {
namespace {

using namespace test;

// Two columns are a complex number, and a rotation is a product.
std::vector<double> formula(const std::vector<double>& x, int64_t T, int64_t D, const RotaryOptions& o) {
  std::vector<double> y(x.size());
  for (int64_t row = 0; row < static_cast<int64_t>(x.size()) / D; ++row)
    for (int64_t c = 0; c < D / 2; ++c) {
      const int64_t a = row * D + (o.interleaved ? 2 * c : c), b = o.interleaved ? a + 1 : a + D / 2;
      const double angle = static_cast<double>(row % T + o.offset) * std::pow(o.base, -2.0 * c / D);
      const std::complex<double> rotated = std::complex(x[a], x[b]) * std::polar(1.0, angle);
      y[a] = rotated.real();
      y[b] = rotated.imag();
    }
  return y;
}

TEST(Rotary, IsItsFormula) {
  for (const Shape& shape : {Shape{2, 3, 5, 8}, {1, 1, 1, 2}, {2, 1, 4, 6}, {1, 2, 0, 4}})
    for (const RotaryOptions& o :
         {RotaryOptions{}, {.interleaved = true}, {.offset = 37}, {.interleaved = true, .base = 500, .offset = 2}})
      check_op(
          to_string(shape), {random_tensor(shape, 1)}, [&](const Variables& v) { return rotary(v[0], o); },
          [&](const Doubles& d) { return formula(d[0], shape.dim(2), shape.dim(3), o); });
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

TEST(Rotary, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] {
              rotary(Tensor::zeros({1, 2, 3, 5}));
            }),
            "rotary: q must be (B,H,T,D) with an even D, got (B 1, H 2, T 3, D 5)");
  EXPECT_EQ(error_of([] {
              rotary(Tensor::zeros({1, 2, 3, 4}), {.base = 0});
            }),
            "rotary: the base must be a positive number, got 0");
}

}  // namespace
}  // namespace qkv
