#include "qkv/kernel/row_test.h"

namespace qkv::kernel::loss_test {

struct Reference {
  double loss;
  Doubles dlogits;
};

Reference reference(const Doubles& x, int64_t target, double e, double scale) {
  const double m = *std::max_element(x.begin(), x.end()), n = static_cast<double>(x.size());
  double z = 0.0;
  for (double v : x) z += std::exp(v - m);
  Reference r{0.0, {}};
  for (size_t i = 0; i < x.size(); ++i) {
    const double log_p = x[i] - m - std::log(z), hit = static_cast<int64_t>(i) == target ? 1.0 : 0.0;
    const double share = (1.0 - e) * hit + e / n;
    if (share != 0.0) r.loss -= share * log_p;
    r.dlogits.push_back(scale * (std::exp(log_p) - share));
  }
  return r;
}

TEST(CrossEntropy, EqualsTheFormulaAtEveryWidth) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    std::vector<int64_t> all = widths();
    all.push_back(10007);
    for (int64_t n : all) {
      for (float e : {0.0f, 0.1f}) {
        Row x = Row::normal(n, 1, 3.0), d(n);
        const int64_t target = n * 2 / 3;
        const Reference r = reference(x.doubles(), target, e, 0.25);
        const float loss = k.cross_entropy(x.data(), n, target, e, 0.25f, d.data());
        EXPECT_NEAR(loss, r.loss, 1e-6 * std::max(1.0, r.loss)) << isa << " " << n;
        for (int64_t i = 0; i < n; ++i)
          EXPECT_NEAR(d[i], r.dlogits[static_cast<size_t>(i)], 1e-7) << isa << " " << n;
        EXPECT_TRUE(d.intact()) << isa;
        EXPECT_EQ(k.cross_entropy(x.data(), n, target, e, 0.25f, nullptr), loss) << isa;
        EXPECT_EQ(k.cross_entropy(x.data(), n, target, e, 0.25f, x.data()), loss) << isa;
        expect_same_bits(x, d, isa + " in place");
      }
    }
  });
}

TEST(SymmetricDivergence, EqualsTheFormulaAtEveryWidth) {
  const auto log_softmax = [](Doubles x) {
    const double m = *std::max_element(x.begin(), x.end());
    double z = 0.0;
    for (double v : x) z += std::exp(v - m);
    for (double& v : x) v -= m + std::log(z);
    return x;
  };
  for_every_isa([&](const RowKernels& k, const std::string& isa) {
    std::vector<int64_t> all = widths();
    all.push_back(10007);
    for (int64_t n : all) {
      Row x = Row::normal(n, 1, 3.0), y = Row::normal(n, 2, 3.0), dx = Row::normal(n, 3), dy = Row::normal(n, 4);
      const Doubles p = log_softmax(x.doubles()), q = log_softmax(y.doubles()), dx0 = dx.doubles(),
                    dy0 = dy.doubles();
      double kl_pq = 0.0, kl_qp = 0.0;
      for (size_t i = 0; i < p.size(); ++i) {
        kl_pq += std::exp(p[i]) * (p[i] - q[i]);
        kl_qp += std::exp(q[i]) * (q[i] - p[i]);
      }
      const double expected = kl_pq + kl_qp;
      const float loss = k.symmetric_divergence(x.data(), y.data(), n, 0.25f, dx.data(), dy.data());
      EXPECT_NEAR(loss, expected, 2e-6 * std::max(1.0, expected)) << isa << " " << n;
      for (size_t i = 0; i < p.size(); ++i) {
        const double a = std::exp(p[i]), b = std::exp(q[i]), d = p[i] - q[i];
        const auto at = static_cast<int64_t>(i);
        EXPECT_NEAR(dx[at], dx0[i] + 0.25 * (a * (d - kl_pq) + a - b), 2e-6) << isa << " " << n;
        EXPECT_NEAR(dy[at], dy0[i] + 0.25 * (b * (-d - kl_qp) + b - a), 2e-6) << isa << " " << n;
      }
      EXPECT_TRUE(dx.intact() && dy.intact()) << isa;
      EXPECT_EQ(k.symmetric_divergence(x.data(), y.data(), n, 0.25f, nullptr, nullptr), loss) << isa;
    }
  });
}

TEST(SymmetricDivergence, OfMaskedAndEqualRowsIsZero) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    Row x = Row::normal(20, 1), dx(20), dy(20);
    x[3] = -INFINITY;
    std::fill(dx.begin(), dx.end(), 0.0f), std::fill(dy.begin(), dy.end(), 0.0f);
    EXPECT_EQ(k.symmetric_divergence(x.data(), x.data(), 20, 1.0f, dx.data(), dy.data()), 0.0f) << isa;
    for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(dx[i], 0.0f) << isa << " " << i;
  });
}

TEST(ExponentialSum, EqualsTheSumOfDoubles) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    for (int64_t n : widths()) {
      Row x = Row::normal(n, 1, 3.0);
      const ExponentialSum e = k.exponential_sum(x.data(), n);
      const float largest = *std::max_element(x.begin(), x.end());
      double sum = 0.0;
      for (double v : x.doubles()) sum += std::exp(v - largest);
      EXPECT_EQ(e.largest, largest) << isa << " " << n;
      EXPECT_NEAR(e.sum / sum, 1.0, 1e-6) << isa << " " << n;
    }
    Row masked(20);
    std::fill(masked.begin(), masked.end(), -INFINITY);
    EXPECT_EQ(k.exponential_sum(masked.data(), 20).sum, 0.0f) << isa;
    masked[3] = 2.0f;
    EXPECT_EQ(k.exponential_sum(masked.data(), 20).sum, 1.0f) << isa;
    masked[7] = NAN;
    EXPECT_TRUE(std::isnan(k.exponential_sum(masked.data(), 20).sum)) << isa;
  });
}

TEST(CrossEntropy, IsFiniteForExtremeLogits) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    Row x(20), d(20);
    std::fill(x.begin(), x.end(), -INFINITY);
    x[4] = 1e30f, x[5] = 0.0f;
    EXPECT_EQ(k.cross_entropy(x.data(), 20, 4, 0.0f, 1.0f, d.data()), 0.0f) << isa;
    EXPECT_TRUE(std::all_of(d.begin(), d.end(), [](float v) { return std::abs(v) < 1e-37f; })) << isa;
    EXPECT_NEAR(k.cross_entropy(x.data(), 20, 5, 0.0f, 1.0f, d.data()) / 1e30, 1.0, 1e-6) << isa;
    EXPECT_EQ(k.cross_entropy(x.data(), 20, 6, 0.0f, 1.0f, d.data()), INFINITY) << isa;
    EXPECT_EQ(d[6], -1.0f) << isa;
    x[3] = NAN;
    EXPECT_TRUE(std::isnan(k.cross_entropy(x.data(), 20, 4, 0.0f, 1.0f, nullptr))) << isa;
  });
}

}  // namespace qkv::kernel::loss_test
