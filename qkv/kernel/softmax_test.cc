#include "qkv/kernel/row_test.h"

namespace qkv::kernel::softmax_test {

Doubles reference(const Doubles& x, double* lse) {
  const double m = *std::max_element(x.begin(), x.end());
  double sum = 0.0;
  for (double v : x) sum += std::exp(v - m);
  Doubles y;
  for (double v : x) y.push_back(std::exp(v - m) / sum);
  *lse = m + std::log(sum);
  return y;
}

TEST(Softmax, EqualsTheFormulaAtEveryWidth) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    for (int64_t n : widths()) {
      Row x = Row::normal(n, 1, 4.0), y(n);
      double lse;
      const Doubles expected = reference(x.doubles(), &lse);
      EXPECT_NEAR(k.softmax(x.data(), n, y.data()), lse, 2e-6 * std::max(1.0, std::abs(lse))) << isa;
      expect_close(y, expected, 1e-6, isa);
      k.softmax(x.data(), n, x.data());
      expect_same_bits(x, y, isa + " in place");
    }
  });
}

TEST(Softmax, MinusInfinityHasWeightZeroEvenInARowOfNothingElse) {
  for_every_isa([](const RowKernels& k, const std::string&) {
    for (int64_t n : {1, 5, 16, 33}) {
      Row x(n), y(n);
      std::fill(x.begin(), x.end(), -INFINITY);
      EXPECT_EQ(k.softmax(x.data(), n, y.data()), -INFINITY);
      EXPECT_TRUE(std::all_of(y.begin(), y.end(), [](float v) { return v == 0.0f; }));
      x[n - 1] = -1e30f;
      EXPECT_EQ(k.softmax(x.data(), n, y.data()), -1e30f);
      EXPECT_EQ(y[n - 1], 1.0f);
      EXPECT_TRUE(n == 1 || y[0] == 0.0f);
      x[n / 2] = 1e30f;
      EXPECT_EQ(k.softmax(x.data(), n, y.data()), 1e30f);
      EXPECT_EQ(y[n / 2], 1.0f);
    }
  });
}

TEST(Softmax, NaNIsKept) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    Row x = Row::normal(40, 2), y(40);
    x[3] = NAN;
    EXPECT_TRUE(std::isnan(k.softmax(x.data(), 40, y.data()))) << isa;
    std::fill(x.begin(), x.end(), -INFINITY);
    x[3] = NAN;
    k.softmax(x.data(), 40, y.data());
    EXPECT_TRUE(std::isnan(y[3])) << isa;
  });
}

TEST(Softmax, BackwardEqualsTheFormula) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    for (int64_t n : widths()) {
      Row y = Row::normal(n, 3), dy = Row::normal(n, 4), dx(n);
      k.softmax(y.data(), n, y.data());
      double dot = 0.0;
      for (int64_t i = 0; i < n; ++i) dot += double{y[i]} * dy[i];
      Doubles expected;
      for (int64_t i = 0; i < n; ++i) expected.push_back(y[i] * (dy[i] - dot));
      k.softmax_backward(y.data(), dy.data(), n, dx.data());
      if (n > 1) expect_close(dx, expected, 2e-6, isa);
      k.softmax_backward(y.data(), dy.data(), n, dy.data());
      expect_same_bits(dy, dx, isa + " in place");
    }
  });
}

}  // namespace qkv::kernel::softmax_test
