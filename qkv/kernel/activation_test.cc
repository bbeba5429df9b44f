#include "qkv/kernel/row_test.h"

namespace qkv::kernel::activation_test {

struct Case {
  const char* name;
  RowKernels::Forward RowKernels::*forward;
  RowKernels::Backward RowKernels::*backward;
  double (*f)(double);
  double (*slope)(double);
};

double logistic(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double normal_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double normal_density(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2.0 * M_PI); }
double inner(double x) { return std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x); }
double inner_slope(double x) { return std::sqrt(2.0 / M_PI) * (1.0 + 3.0 * 0.044715 * x * x); }

const Case cases[] = {
    {"relu", &RowKernels::relu, &RowKernels::relu_backward, [](double x) { return std::max(x, 0.0); },
     [](double x) { return x > 0.0 ? 1.0 : 0.0; }},
    {"gelu", &RowKernels::gelu, &RowKernels::gelu_backward, [](double x) { return x * normal_below(x); },
     [](double x) { return normal_below(x) + x * normal_density(x); }},
    {"gelu_tanh", &RowKernels::gelu_tanh, &RowKernels::gelu_tanh_backward,
     [](double x) { return 0.5 * x * (1.0 + std::tanh(inner(x))); },
     [](double x) {
       const double t = std::tanh(inner(x));
       return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * inner_slope(x);
     }},
    {"silu", &RowKernels::silu, &RowKernels::silu_backward, [](double x) { return x * logistic(x); },
     [](double x) { return logistic(x) * (1.0 + x * (1.0 - logistic(x))); }},
    {"sigmoid", &RowKernels::sigmoid, &RowKernels::sigmoid_backward, logistic,
     [](double x) { return logistic(x) * (1.0 - logistic(x)); }},
    {"tanh", &RowKernels::tanh, &RowKernels::tanh_backward, [](double x) { return std::tanh(x); },
     [](double x) { return 1.0 - std::tanh(x) * std::tanh(x); }},
};

TEST(Activations, EqualTheFormulasAtEveryWidth) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    for (const Case& c : cases) {
      for (int64_t n : widths()) {
        Row x = Row::normal(n, 5, 2.0), dy = Row::normal(n, 6), y(n), dx(n);
        Doubles expected, slopes;
        for (int64_t i = 0; i < n; ++i) {
          expected.push_back(c.f(x[i]));
          slopes.push_back(c.slope(x[i]) * dy[i]);
        }
        (k.*c.forward)(x.data(), n, y.data());
        (k.*c.backward)(x.data(), dy.data(), n, dx.data());
        const std::string what = isa + " " + c.name;
        expect_close(y, expected, 4e-7, what);
        // Near a zero of the slope the error is measured against 1.
        for (int64_t i = 0; i < n; ++i)
          EXPECT_NEAR(dx[i], slopes[static_cast<size_t>(i)], 6e-7 * std::max(1.0f, std::abs(dy[i]))) << what;
        EXPECT_TRUE(dx.intact()) << what;
        (k.*c.backward)(x.data(), dy.data(), n, dy.data());
        expect_same_bits(dy, dx, what + " backward in place");
        (k.*c.forward)(x.data(), n, x.data());
        expect_same_bits(x, y, what + " in place");
      }
    }
  });
}

// Every 1/1024 from -20 to 20, against the size of the value or of the range of the input, whichever is larger.
TEST(Activations, AreAccurateToAFewRoundingErrorsOverTheirWholeRange) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    const int64_t n = 40 * 1024 + 1;
    Row x(n), y(n);
    for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(i - n / 2) / 1024.0f;
    for (const Case& c : cases) {
      (k.*c.forward)(x.data(), n, y.data());
      double error = 0.0;
      for (int64_t i = 0; i < n; ++i)
        error = std::max(error, std::abs(y[i] - c.f(x[i])) / std::max(1.0, std::abs(c.f(x[i]))));
      EXPECT_LE(error, 2.5e-7) << isa << " " << c.name;
    }
  });
}

TEST(Activations, ReachTheirLimitsAtExtremeValues) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    const float far[] = {-INFINITY, -1e30f, -1e5f, -100.0f, -0.0f, 0.0f, 100.0f, 1e5f, 1e30f, INFINITY};
    const int64_t n = std::size(far);
    Row x(n), y(n), one(n), dx(n);
    std::copy(std::begin(far), std::end(far), x.begin());
    std::fill(one.begin(), one.end(), 1.0f);
    for (const Case& c : cases) {
      (k.*c.forward)(x.data(), n, y.data());
      (k.*c.backward)(x.data(), one.data(), n, dx.data());
      for (int64_t i = 0; i < n; ++i) {
        const bool left = far[i] < -1.0f, middle = far[i] == 0.0f;
        const std::string what = isa + " " + c.name + " at " + std::to_string(far[i]);
        if (c.forward == &RowKernels::sigmoid)
          EXPECT_NEAR(y[i], left ? 0.0f : middle ? 0.5f : 1.0f, 1e-38) << what;
        else if (c.forward == &RowKernels::tanh)
          EXPECT_EQ(y[i], left ? -1.0f : middle ? 0.0f : 1.0f) << what;
        else
          EXPECT_EQ(y[i], left ? 0.0f : far[i]) << what;
        EXPECT_FALSE(std::isnan(dx[i])) << what;
      }
    }
    x[0] = NAN;
    for (const Case& c : cases) {
      (k.*c.forward)(x.data(), n, y.data());
      EXPECT_TRUE(std::isnan(y[0])) << isa << " " << c.name;
    }
  });
}

}  // namespace qkv::kernel::activation_test
