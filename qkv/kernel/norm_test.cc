#include "qkv/kernel/row_test.h"

namespace qkv::kernel::norm_test {

constexpr double eps = 1e-5;

struct Reference {
  Doubles y, dx, dweight, dbias;
  double mean, rstd;
};

// Both norms: RMS norm is layer norm with a mean of 0 and without a bias.
Reference reference(const Doubles& x, const Doubles& w, const Doubles& b, const Doubles& dy, bool centered) {
  const double n = static_cast<double>(x.size());
  Reference r{};
  if (centered)
    for (double v : x) r.mean += v / n;
  double variance = 0.0, g_mean = 0.0, gu_mean = 0.0;
  for (double v : x) variance += (v - r.mean) * (v - r.mean) / n;
  r.rstd = 1.0 / std::sqrt(variance + eps);
  for (size_t i = 0; i < x.size(); ++i) {
    const double u = (x[i] - r.mean) * r.rstd;
    r.y.push_back(u * w[i] + (centered ? b[i] : 0.0));
    r.dweight.push_back(dy[i] * u);
    r.dbias.push_back(dy[i]);
    g_mean += dy[i] * w[i] / n;
    gu_mean += dy[i] * w[i] * u / n;
  }
  for (size_t i = 0; i < x.size(); ++i)
    r.dx.push_back(r.rstd * (dy[i] * w[i] - (centered ? g_mean : 0.0) - (x[i] - r.mean) * r.rstd * gu_mean));
  return r;
}

// Rows with a mean far from zero.
Row shifted(int64_t n) {
  Row x = Row::normal(n, 1);
  for (float& v : x) v += 10.0f;
  return x;
}

TEST(LayerNorm, EqualsTheFormulaAtEveryWidth) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    for (int64_t n : widths()) {
      if (n == 1) continue;  // 0 / sqrt(eps) amplifies what rounding leaves of x - mean: tested below
      Row x = shifted(n), w = Row::normal(n, 2), b = Row::normal(n, 3), dy = Row::normal(n, 4), y(n), dx(n);
      Row dw(n), db(n);
      std::fill(dw.begin(), dw.end(), 0.0f);
      std::fill(db.begin(), db.end(), 0.0f);
      const Reference r = reference(x.doubles(), w.doubles(), b.doubles(), dy.doubles(), true);
      float mean, rstd;
      k.layer_norm(x.data(), w.data(), b.data(), n, eps, y.data(), &mean, &rstd);
      EXPECT_NEAR(mean, r.mean, 5e-6);
      EXPECT_NEAR(rstd, r.rstd, 2e-5 * r.rstd);
      expect_close(y, r.y, 2e-5, isa);
      k.layer_norm_backward(dy.data(), x.data(), w.data(), static_cast<float>(r.mean), static_cast<float>(r.rstd),
                            n, dx.data(), dw.data(), db.data());
      double scale = 0.0;  // of the terms of dx, which may cancel
      for (double v : r.dbias) scale = std::max(scale, std::abs(v) * r.rstd);
      for (int64_t i = 0; i < n; ++i)
        EXPECT_NEAR(dx[i], r.dx[static_cast<size_t>(i)], 2e-5 * scale) << isa << " " << n;
      expect_close(dw, r.dweight, 1e-5, isa);
      expect_close(db, r.dbias, 1e-6, isa);
      EXPECT_TRUE(dx.intact());
      Row in_place = dy;
      k.layer_norm_backward(in_place.data(), x.data(), w.data(), static_cast<float>(r.mean),
                            static_cast<float>(r.rstd), n, in_place.data(), nullptr, nullptr);
      expect_same_bits(in_place, dx, isa + " in place, no sums");
      k.layer_norm(x.data(), w.data(), b.data(), n, eps, x.data(), nullptr, nullptr);
      expect_same_bits(x, y, isa + " in place");
    }
  });
}

TEST(LayerNorm, AConstantRowIsTheBias) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    for (int64_t n : {1, 3, 16, 100}) {
      Row x(n), b = Row::normal(n, 3), y(n);
      std::fill(x.begin(), x.end(), 3.0f);
      k.layer_norm(x.data(), nullptr, b.data(), n, eps, y.data(), nullptr, nullptr);
      expect_same_bits(y, b, isa);
    }
  });
}

TEST(RmsNorm, EqualsTheFormulaAtEveryWidth) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    for (int64_t n : widths()) {
      Row x = Row::normal(n, 1), w = Row::normal(n, 2), dy = Row::normal(n, 4), y(n), dx(n), dw(n);
      std::fill(dw.begin(), dw.end(), 0.0f);
      const Reference r = reference(x.doubles(), w.doubles(), w.doubles(), dy.doubles(), false);
      float rstd;
      k.rms_norm(x.data(), w.data(), n, eps, y.data(), &rstd);
      EXPECT_NEAR(rstd, r.rstd, 1e-6 * r.rstd);
      expect_close(y, r.y, 1e-6, isa);
      k.rms_norm_backward(dy.data(), x.data(), w.data(), rstd, n, dx.data(), dw.data());
      if (n > 1) expect_close(dx, r.dx, 2e-5, isa);
      expect_close(dw, r.dweight, 1e-6, isa);
    }
  });
}

TEST(Norms, TheBitsOfARowDoNotDependOnItsAddress) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    for (int64_t n : {1, 7, 16, 50, 1000}) {
      Row w = Row::normal(n, 2), first(n);
      for (int shift = 0; shift < 16; ++shift) {
        Row x(n, shift), y(n, 15 - shift), values = Row::normal(n, 1);
        std::copy(values.begin(), values.end(), x.begin());
        k.layer_norm(x.data(), w.data(), w.data(), n, eps, y.data(), nullptr, nullptr);
        if (shift == 0) std::copy(y.begin(), y.end(), first.begin());
        expect_same_bits(y, first, isa);
      }
    }
  });
}

}  // namespace qkv::kernel::norm_test
