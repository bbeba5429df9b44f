#include "qkv/kernel/row_test.h"

namespace qkv::kernel::multi_token_test {

void for_every_set(const std::function<void(const MultiTokenKernels&, int, const std::string&)>& test) {
  for (const Kernels* k : all_kernels()) test(k->multi_token, k->lanes, std::string(k->isa));
}

struct Taps {
  int64_t queries, keys, query_before, key_before;
};

// Rows of a head with a border of zeros, and optionally zeros in the first lanes.
Row head_rows(int64_t keys, int64_t width, int64_t border, int64_t zero_lanes, uint64_t stream) {
  Row x = Row::normal((keys + 2 * border) * width, stream);
  for (int64_t j = 0; j < keys + 2 * border; ++j)
    for (int64_t i = 0; i < width; ++i)
      if (j < border || j >= keys + border || i < zero_lanes) x[j * width + i] = 0;
  return x;
}

// Calls visit(index in out, index in in, index in taps) for every product of a convolution that stays within its
// lanes.
template <class Visit>
void each_product(int64_t keys, int64_t width, int64_t border, const Taps& t, Visit visit) {
  for (int64_t j = 0; j < keys; ++j)
    for (int64_t i = 0; i < width; ++i)
      for (int64_t a = 0; a < t.queries; ++a)
        for (int64_t b = 0; b < t.keys; ++b) {
          const int64_t from = i + a - t.query_before;
          if (from >= 0 && from < width)
            visit(j * width + i, (border + j + b - t.key_before) * width + from, a * t.keys + b);
        }
}

TEST(MultiTokenKernels, ConvolutionEqualsTheFormula) {
  for_every_set([](const MultiTokenKernels& k, int lanes, const std::string& isa) {
    for (const Taps& t : {Taps{1, 1, 0, 0}, Taps{6, 11, 5, 5}, Taps{2, 3, 1, 0}, Taps{3, 20, 0, 19},
                          Taps{4, 35, 3, 17}, Taps{5, 16, 4, 7}, Taps{2, 13, 1, 6}}) {
      const int64_t keys = 37, width = 2 * lanes, border = t.keys;
      // Reads past the end of a row find the zeros of the first lanes of the next; reads before it are wrong.
      Row in = head_rows(keys, width, border, t.queries - 1, 1), taps = Row::normal(t.queries * t.keys, 2),
          out(keys * width);
      k.convolve({.in = in.data() + border * width,
                  .out = out.data(),
                  .keys = keys,
                  .width = width,
                  .taps = taps.data(),
                  .query_taps = t.queries,
                  .key_taps = t.keys,
                  .query_before = t.query_before,
                  .key_before = t.key_before});
      Doubles expected(static_cast<size_t>(keys * width));
      each_product(keys, width, border, t, [&](int64_t to, int64_t from, int64_t tap) {
        expected[static_cast<size_t>(to)] += static_cast<double>(taps[tap]) * in[from];
      });
      for (int64_t j = 0; j < keys; ++j)
        for (int64_t i = 0; i < t.query_before; ++i) {
          const auto at = static_cast<size_t>(j * width + i);
          out[j * width + i] = static_cast<float>(expected[at]);
        }
      expect_close(out, expected, 1e-6, isa);
    }
  });
}

TEST(MultiTokenKernels, CorrelationIsTheGradientOfTheTaps) {
  for_every_set([](const MultiTokenKernels& k, int lanes, const std::string& isa) {
    for (const Taps& t : {Taps{1, 1, 0, 0}, Taps{6, 11, 5, 5}, Taps{3, 40, 2, 0}}) {
      const int64_t keys = 70, width = 2 * lanes, border = t.keys;
      Row in = head_rows(keys, width, border, 0, 1), grad = head_rows(keys, width, border, t.query_before, 2);
      Doubles sums(static_cast<size_t>(t.queries * t.keys), 3.0), expected = sums;
      k.correlate({.in = in.data() + border * width,
                   .out = nullptr,
                   .keys = keys,
                   .width = width,
                   .taps = nullptr,
                   .query_taps = t.queries,
                   .key_taps = t.keys,
                   .query_before = t.query_before,
                   .key_before = t.key_before},
                  grad.data() + border * width, sums.data());
      each_product(keys, width, border, t, [&](int64_t to, int64_t from, int64_t tap) {
        expected[static_cast<size_t>(tap)] += static_cast<double>(grad[border * width + to]) * in[from];
      });
      for (size_t n = 0; n < sums.size(); ++n) EXPECT_NEAR(sums[n], expected[n], 1e-3) << isa << ", tap " << n;
    }
  });
}

TEST(MultiTokenKernels, SoftmaxReadsOnlyVisibleScores) {
  for_every_set([](const MultiTokenKernels& k, int lanes, const std::string& isa) {
    const int64_t keys = 9, width = lanes;
    Row s = Row::normal(keys * width, 3), maximum(width), sum(width), clear(keys * width), before = s;
    std::vector<uint64_t> visible(keys);
    for (int64_t j = 0; j < keys; ++j) visible[static_cast<size_t>(j)] = j % 3 == 0 ? ~uint64_t{1} : 0x6a3c & ~1u;
    const auto sees = [&](int64_t j, int64_t i) { return (visible[static_cast<size_t>(j)] >> i & 1) != 0; };
    std::fill(maximum.begin(), maximum.end(), -INFINITY);
    std::fill(sum.begin(), sum.end(), 0.0f);
    k.clear(s.data(), keys, width, visible.data(), clear.data());
    k.maximum(s.data(), keys, width, visible.data(), maximum.data());
    EXPECT_EQ(maximum[0], -INFINITY) << isa << ": a query that sees nothing";
    maximum[0] = 0;
    k.exponentials(s.data(), keys, width, visible.data(), maximum.data(), sum.data());
    Doubles weights, sums(static_cast<size_t>(width));
    for (int64_t at = 0; at < keys * width; ++at) {
      const int64_t i = at % width;
      EXPECT_EQ(clear[at], sees(at / width, i) ? before[at] : 0.0f) << isa;
      weights.push_back(sees(at / width, i) ? std::exp(static_cast<double>(before[at]) - maximum[i]) : 0.0);
      sums[static_cast<size_t>(i)] += weights.back();
    }
    expect_close(s, weights, 1e-6, isa);
    expect_close(sum, sums, 1e-6, isa);
    Row dots(width);
    std::fill(dots.begin(), dots.end(), 1.0f);
    k.dot_columns(s.data(), before.data(), keys, width, dots.data());
    k.scale(s.data(), keys, width, sum.data());
    Doubles products(static_cast<size_t>(width), 1.0);
    for (int64_t at = 0; at < keys * width; ++at) {
      products[static_cast<size_t>(at % width)] += weights[static_cast<size_t>(at)] * before[at];
      weights[static_cast<size_t>(at)] *= sums[static_cast<size_t>(at % width)];
    }
    expect_close(dots, products, 1e-6, isa);
    expect_close(s, weights, 1e-6, isa);
  });
}

TEST(MultiTokenKernels, DotsEqualTheFormulaInAllHeads) {
  for_every_set([](const MultiTokenKernels& k, int lanes, const std::string& isa) {
    for (const int64_t count : {1, 2, 4, 7, 13}) {
      const int64_t other = count + 2, keys = 3, width = 3 * lanes, n = keys * width, stride = n + 5;
      Row a = Row::normal(count * stride, 1), b = Row::normal(other * stride, 2);
      Doubles sums(static_cast<size_t>(count * other), 1.0);
      k.dot_all_heads({a.data(), stride, count}, {b.data(), stride, other}, keys, width, sums.data());
      for (int64_t r = 0; r < count; ++r)
        for (int64_t c = 0; c < other; ++c) {
          double expected = 1;
          for (int64_t i = 0; i < n; ++i) expected += static_cast<double>(a[r * stride + i]) * b[c * stride + i];
          EXPECT_NEAR(sums[static_cast<size_t>(r * other + c)], expected, 1e-4) << isa;
        }
    }
  });
}

}  // namespace qkv::kernel::multi_token_test
