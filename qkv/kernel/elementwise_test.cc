#include <algorithm>
#include <bit>
#include <limits>

#include "qkv/kernel/row_test.h"
#include "qkv/tensor/dtype.h"

namespace qkv::kernel::elementwise_test {

template <class F>
Doubles each_of(int64_t n, F f) {
  Doubles out;
  for (int64_t i = 0; i < n; ++i) out.push_back(f(i));
  return out;
}

TEST(Elementwise, SumsAndProductsEqualTheFormulas) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    for (int64_t n : widths()) {
      Row a = Row::normal(n, 1), b = Row::normal(n, 2), old = Row::normal(n, 3), y(n);
      k.add(a.data(), b.data(), n, y.data());
      expect_close(y, each_of(n, [&](int64_t i) { return double{a[i]} + b[i]; }), 1e-7, isa + " add");
      k.multiply(a.data(), b.data(), n, y.data());
      expect_close(y, each_of(n, [&](int64_t i) { return double{a[i]} * b[i]; }), 1e-7, isa + " multiply");
      k.scale(a.data(), 0.3f, n, y.data());
      expect_close(y, each_of(n, [&](int64_t i) { return double{a[i]} * 0.3f; }), 1e-7, isa + " scale");
      y = old;
      k.multiply_add(a.data(), b.data(), n, y.data());
      for (int64_t i = 0; i < n; ++i) EXPECT_NEAR(y[i], old[i] + double{a[i]} * b[i], 2e-6) << isa;
      y = old;
      k.add_scaled(a.data(), -2.0f, n, y.data());
      for (int64_t i = 0; i < n; ++i) EXPECT_NEAR(y[i], old[i] - 2.0 * a[i], 2e-6) << isa;
      EXPECT_TRUE(y.intact());
      Row in_place = a;
      k.add(in_place.data(), in_place.data(), n, in_place.data());
      expect_close(in_place, each_of(n, [&](int64_t i) { return 2.0 * a[i]; }), 0.0, isa + " add in place");
    }
  });
}

TEST(Elementwise, PositiveNumbersAreBitsBySixteen) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    for (int64_t n : widths()) {
      Row x = Row::normal(n, 1), y = Row::normal(n, 2), kept(n);
      if (n > 2) x[0] = 0.0f, x[1] = -0.0f, x[2] = std::numeric_limits<float>::quiet_NaN();
      std::vector<uint16_t> bits(static_cast<size_t>((n + 15) / 16) + 1, 0xabcd);
      k.positive(x.data(), n, bits.data());
      for (size_t word = 0; word + 1 < bits.size(); ++word)
        for (int64_t bit = 0; bit < 16; ++bit) {
          const int64_t i = static_cast<int64_t>(word) * 16 + bit;
          EXPECT_EQ(bits[word] >> bit & 1, i < n && x[i] > 0) << isa << " " << n << " " << i;
        }
      EXPECT_EQ(bits.back(), 0xabcd) << isa;
      k.where(bits.data(), y.data(), n, kept.data());
      for (int64_t i = 0; i < n; ++i) EXPECT_EQ(kept[i], x[i] > 0 ? y[i] : 0.0f) << isa << " " << n << " " << i;
      EXPECT_TRUE(kept.intact()) << isa;
    }
  });
}

TEST(Elementwise, BitsDoNotDependOnHowAnArrayIsCut) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    const int64_t n = 300;
    Row a = Row::normal(n, 1), b = Row::normal(n, 2), old = Row::normal(n, 3), whole = old, cut = old;
    k.multiply_add(a.data(), b.data(), n, whole.data());
    for (int64_t i = 0, length = 1; i < n; i += length, length = length % 37 + 5) {
      length = std::min(length, n - i);
      k.multiply_add(a.data() + i, b.data() + i, length, cut.data() + i);
    }
    expect_same_bits(cut, whole, isa);
  });
}

TEST(Sums, AreExactInDouble) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    for (int64_t n : widths()) {
      Row x = Row::normal(n, 1, 100.0);
      double sum = 0.0, squares = 0.0, size = 0.0;
      for (float v : x) sum += v, squares += double{v} * v, size += std::abs(v);
      EXPECT_NEAR(k.sum(x.data(), n), sum, 1e-14 * size) << isa;
      EXPECT_NEAR(k.sum_of_squares(x.data(), n), squares, 1e-14 * squares) << isa;
    }
    EXPECT_EQ(k.sum(nullptr, 0), 0.0);
    Row x(3);
    x[0] = 1e30f, x[1] = 1e30f, x[2] = 0.0f;
    EXPECT_NEAR(k.sum_of_squares(x.data(), 3) / 2e60, 1.0, 1e-6);
  });
}

TEST(Elementwise, FirstAboveIsTheFirstLargerNumberOrNaN) {
  for (const Kernels* isa : all_kernels()) {
    const auto first_above = isa->rows.first_above;
    for (const int64_t n : {0, 1, 100, 128, 300, 1000}) {
      Row x = Row::normal(n, 1);
      for (const float threshold : {-10.0f, 0.0f, 2.0f, 10.0f, -std::numeric_limits<float>::infinity()}) {
        int64_t expected = 0;
        while (expected < n && !(x.data()[expected] > threshold)) ++expected;
        EXPECT_EQ(first_above(x.data(), n, threshold), expected) << isa->isa << " " << n << " " << threshold;
      }
      if (n == 0) continue;
      x.data()[n - 1] = 11;
      EXPECT_EQ(first_above(x.data(), n, 10), n - 1);
      x.data()[n / 2] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_EQ(first_above(x.data(), n, 10), n / 2);
    }
  }
}

TEST(AddRows, AddsTheColumnSums) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    for (int64_t n : widths()) {
      for (int64_t count : {0, 1, 2, 9, 100}) {
        const int64_t stride = n + 3;
        Row rows = Row::normal(count * stride, 1), sum = Row::normal(n, 2);
        Doubles expected = sum.doubles();
        for (int64_t r = 0; r < count; ++r)
          for (int64_t i = 0; i < n; ++i) expected[static_cast<size_t>(i)] += rows[r * stride + i];
        k.add_rows(sum.data(), rows.data(), count, stride, n);
        for (int64_t i = 0; i < n; ++i) EXPECT_NEAR(sum[i], expected[static_cast<size_t>(i)], 2e-5) << isa;
        EXPECT_TRUE(sum.intact()) << isa;
      }
    }
  });
}

TEST(Embed, ScalesAndAddsThePosition) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    for (int64_t n : widths()) {
      Row table = Row::normal(n, 1), position = Row::normal(n, 2), y(n);
      k.embed(table.data(), 8.0f, position.data(), n, y.data());
      for (int64_t i = 0; i < n; ++i) EXPECT_NEAR(y[i], 8.0 * table[i] + position[i], 4e-6) << isa;
      k.embed(table.data(), 8.0f, nullptr, n, y.data());
      expect_close(y, each_of(n, [&](int64_t i) { return 8.0 * table[i]; }), 0.0, isa);
    }
  });
}

TEST(Adam, EqualsTheFormulaStepByStep) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    for (int64_t n : widths()) {
      for (double decay : {0.0, 0.1}) {
        Row p = Row::normal(n, 1), m(n), v(n);
        std::fill(m.begin(), m.end(), 0.0f);
        std::fill(v.begin(), v.end(), 0.0f);
        Doubles rp = p.doubles(), rm = m.doubles(), rv = v.doubles();
        for (int step = 1; step <= 3; ++step) {
          Row g = Row::normal(n, 10 + static_cast<uint64_t>(step));
          if (n > 2) g[0] = 0.0f, g[1] *= 1e-9f, g[2] *= 1e6f;
          const AdamStep s = {.lr = 0.01,
                              .beta1 = 0.9,
                              .beta2 = 0.98,
                              .eps = 1e-9,
                              .weight_decay = decay,
                              .correction1 = 1.0 / (1.0 - std::pow(0.9, step)),
                              .correction2 = 1.0 / (1.0 - std::pow(0.98, step)),
                              .grad_scale = 0.5};
          k.adam(p.data(), m.data(), v.data(), g.data(), n, s);
          for (size_t i = 0; i < rp.size(); ++i) {
            const double grad = 0.5 * g[static_cast<int64_t>(i)];
            rm[i] = 0.9 * rm[i] + 0.1 * grad;
            rv[i] = 0.98 * rv[i] + 0.02 * grad * grad;
            rp[i] -= 0.01 * decay * rp[i];
            rp[i] -= 0.01 * rm[i] * s.correction1 / (std::sqrt(rv[i] * s.correction2) + 1e-9);
          }
        }
        expect_close(p, rp, 5e-7, isa);
        for (size_t i = 0; i < rm.size(); ++i) {  // entry by entry: they span many orders of magnitude
          EXPECT_NEAR(m[static_cast<int64_t>(i)], rm[i], 2e-6 * std::sqrt(rv[i])) << isa;
          EXPECT_NEAR(v[static_cast<int64_t>(i)], rv[i], 5e-7 * rv[i]) << isa;
        }
        EXPECT_TRUE(m.intact() && v.intact());
      }
    }
  });
}

TEST(Adam, ChangesNothingWithoutGradientAndEps) {
  for_every_isa([](const RowKernels& k, const std::string&) {
    Row p = Row::normal(20, 1), before = p, zero(20), m = zero, v = zero;
    for (Row* row : {&zero, &m, &v}) std::fill(row->begin(), row->end(), 0.0f);
    k.adam(p.data(), m.data(), v.data(), zero.data(), 20, {.lr = 1.0, .beta1 = 0.9, .beta2 = 0.98, .eps = 0.0});
    expect_same_bits(p, before, "p");
  });
}

TEST(RoundStochastically, TakesOneOfTheTwoNeighborsWithTheNumberAsMean) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    constexpr int64_t n = 1000 + 7;
    Row x = Row::normal(n, 1);
    std::vector<double> mean(n);
    std::vector<uint16_t> bits(n);
    Row back(n);
    constexpr int draws = 400;
    for (uint32_t key = 0; key < draws; ++key) {
      k.round_stochastically(x.data(), n, key, bits.data());
      k.widen(bits.data(), n, back.data());
      for (int64_t i = 0; i < n; ++i) {
        const double step = std::abs(static_cast<double>(x[i])) / 128;
        ASSERT_LT(std::abs(static_cast<double>(back[i]) - static_cast<double>(x[i])), step) << isa;
        mean[static_cast<size_t>(i)] += static_cast<double>(back[i]) / draws;
      }
    }
    for (int64_t i = 0; i < n; ++i) {  // five standard deviations of a mean of 400
      const double step = std::abs(static_cast<double>(x[i])) / 128;
      EXPECT_NEAR(mean[static_cast<size_t>(i)], static_cast<double>(x[i]), 5 * 0.5 * step / 20) << isa;
    }
    // What a number becomes does not depend on its place.
    std::vector<uint16_t> part(bits);
    k.round_stochastically(x.data() + 3, n - 3, draws - 1, part.data());
    EXPECT_TRUE(std::equal(bits.begin() + 3, bits.end(), part.begin())) << isa;
  });
}

TEST(RoundToNearest, IsThatOfTheTypeBfloat16) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    Row drawn = Row::normal(1000, 1);
    std::vector<float> x(drawn.begin(), drawn.end());
    for (const uint32_t bits :
         {0x3f808000u, 0x3f818000u, 0x3f808001u, 0x7f7fffffu, 0x7f800000u, 0x7f800001u, 0xffffffffu, 1u, 0u})
      x.push_back(std::bit_cast<float>(bits));
    std::vector<uint16_t> rounded(x.size());
    k.round_to_nearest(x.data(), std::ssize(x), rounded.data());
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(rounded[i], bfloat16(x[i]).bits) << isa << " " << x[i];
  });
}

TEST(RoundStochastically, KeepsInfinityAndWhatBf16Holds) {
  for_every_isa([](const RowKernels& k, const std::string& isa) {
    const std::vector<float> x = {0.0f, 1.0f, -2.5f, std::numeric_limits<float>::infinity(), 0x1p-126f};
    std::vector<uint16_t> bits(x.size());
    std::vector<float> back(x.size());
    for (uint32_t key = 0; key < 50; ++key) {
      k.round_stochastically(x.data(), std::ssize(x), key, bits.data());
      k.widen(bits.data(), std::ssize(x), back.data());
      EXPECT_EQ(back, x) << isa;
    }
  });
}

}  // namespace qkv::kernel::elementwise_test
