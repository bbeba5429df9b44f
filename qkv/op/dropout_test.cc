#include "qkv/op/dropout.h"

#include "qkv/base/threads.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::dropout_test {

using namespace test;

Tensor ones(const Shape& shape) { return Tensor::full(shape, 1.0f); }

TEST(Dropout, KeepsAboutItsShareAndScalesIt) {
  for (const float rate : {0.1f, 0.5f, 0.9f}) {
    const int64_t n = 100000;
    const Tensor y = dropout(ones({n}), {.rate = rate, .seed = 3, .stream = 4}).value();
    const std::vector<double> values = doubles(y);
    const int64_t kept = n - std::count(values.begin(), values.end(), 0.0);
    const double maximum = *std::max_element(values.begin(), values.end());
    EXPECT_NEAR(maximum * (1 - rate), 1, 1e-4);  // the rate is rounded to 16 bits
    EXPECT_EQ(kept, std::count(values.begin(), values.end(), maximum));
    const double expected = static_cast<double>(n) * (1 - rate), deviation = std::sqrt(expected * rate);
    EXPECT_NEAR(static_cast<double>(kept), expected, 4 * deviation) << rate;
  }
}

TEST(Dropout, DropsTheSameElementsInTheBackward) {
  const Variable x(random_tensor({7, 300}, 1), {.requires_grad = true});
  const Dropout options{.rate = 0.3f, .seed = 1, .stream = 2};
  dropout(x, options).backward(ones({7, 300}));
  EXPECT_TRUE(same_bits(x.grad(), dropout(ones({7, 300}), options).value()));
}

// Forward, backward and with a residual, of widths that do not fill a block of random numbers.
TEST(Dropout, RowsOfAPartDropWhatTheyDropInTheWhole) {
  for (const int64_t width : {3, 129}) {
    const Tensor x = random_tensor({2, 24, width}, 1), residual = random_tensor({2, 24, width}, 2);
    const Dropout options{.rate = 0.4f, .seed = 1, .stream = 2};
    const Tensor y = dropout(x, options).value(), z = dropout_add(x, residual, options).value();
    for (const int ranks : {2, 3})
      for (int rank = 0; rank < ranks; ++rank) {
        Dropout of_part = options;
        of_part.part = {rank, ranks};
        const SequenceLayout layout = zigzag_layout(24, ranks);
        const auto own = [&](const Tensor& whole) { return layout.rows_of(whole, 1, rank); };
        EXPECT_TRUE(same_bits(dropout(own(x), of_part).value(), own(y))) << rank << " of " << ranks;
        EXPECT_TRUE(same_bits(dropout_add(own(x), own(residual), of_part).value(), own(z)));
        const Variable in(own(residual), {.requires_grad = true});
        dropout(in, of_part).backward(own(x));
        EXPECT_TRUE(same_bits(in.grad(), own(y)));
      }
  }
}

TEST(Dropout, DependsOnlyOnSeedAndStream) {
  const int before = threads();
  const Tensor x = ones({100003});
  const auto drop = [&](uint64_t seed, uint64_t stream) {
    return dropout(x, {.rate = 0.5f, .seed = seed, .stream = stream}).value();
  };
  const Tensor first = drop(1, 2);
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    EXPECT_TRUE(same_bits(first, drop(1, 2))) << count << " threads";
  }
  set_threads(before);
  for (const Tensor& other : {drop(2, 2), drop(1, 3)}) {  // about half of the elements agree by chance
    int64_t same = 0;
    for (int64_t i = 0; i < x.numel(); ++i) same += first.data<float>()[i] == other.data<float>()[i];
    EXPECT_NEAR(static_cast<double>(same), 0.5 * static_cast<double>(x.numel()), 1000);
  }
}

TEST(Dropout, AddsTheResidualInOnePass) {
  const Dropout options{.rate = 0.4f, .seed = 5, .stream = 6};
  const Variable x(random_tensor({5, 40}, 1), {.requires_grad = true}),
      r(random_tensor({5, 40}, 2), {.requires_grad = true});
  const Variable y = dropout_add(x, r, options);
  const std::vector<double> dropped = doubles(dropout(x, options).value()), rest = doubles(r.value());
  expect_close(y.value(), each(rest, [&](size_t i) { return dropped[i] + rest[i]; }), 1e-7, "value");
  const Tensor upstream = random_tensor({5, 40}, 3);
  y.backward(upstream);
  EXPECT_TRUE(same_bits(r.grad(), upstream));
  EXPECT_TRUE(same_bits(x.grad(), dropout(upstream, options).value()));
}

TEST(Dropout, WithoutARateIsTheIdentity) {
  check_op(
      "dropout", {random_tensor({3, 4}, 1)}, [](const Variables& v) { return dropout(v[0], {}); },
      [](const Doubles& d) { return d[0]; }, {.value = 0});
  check_op(
      "dropout_add", {random_tensor({3, 4}, 1), random_tensor({3, 4}, 2)},
      [](const Variables& v) { return dropout_add(v[0], v[1], {}); },
      [](const Doubles& d) { return each(d[0], [&](size_t i) { return d[0][i] + d[1][i]; }); });
}

TEST(Dropout, RejectsInvalidRatesAndShapes) {
  EXPECT_EQ(error_of([] { dropout(ones({2}), {.rate = 1.0f}); }), "dropout: the rate must be in [0, 1), got 1");
  EXPECT_EQ(error_of([] { dropout(ones({2}), {.rate = -0.5f}); }), "dropout: the rate must be in [0, 1), got -0.5");
  EXPECT_EQ(error_of([] { dropout_add(ones({2}), ones({3}), {.rate = 0.5f}); }),
            "dropout_add: x and residual must have the same shape: (2) and (3)");
}

}  // namespace qkv::dropout_test
