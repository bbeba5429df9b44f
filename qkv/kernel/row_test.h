// For the tests of row kernels: rows of random numbers at unaligned addresses, and comparison with doubles.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/random.h"
#include "qkv/kernel/kernels.h"

namespace qkv::kernel {

using Doubles = std::vector<double>;

inline const std::vector<int64_t>& widths() {
  static const std::vector<int64_t> all = [] {
    std::vector<int64_t> n{1000};
    for (int64_t i = 1; i <= 70; ++i) n.push_back(i);
    return n;
  }();
  return all;
}

// n floats at `shift` floats past an aligned address, followed by a guard that no kernel may touch.
class Row {
 public:
  static constexpr float guard = 12345.0f;

  explicit Row(int64_t n, int shift = 1)
      : memory_(static_cast<size_t>(n + shift) + 16, guard), n_(n), shift_(shift) {}
  static Row normal(int64_t n, uint64_t stream, double spread = 1.0) {
    Row row(n);
    Random random(11, stream);
    for (float& x : row) x = static_cast<float>(spread * random.normal());
    return row;
  }

  float* data() { return memory_.data() + shift_; }
  float* begin() { return data(); }
  float* end() { return data() + n_; }
  float& operator[](int64_t i) { return data()[i]; }
  int64_t size() const { return n_; }
  Doubles doubles() { return Doubles(begin(), end()); }
  bool intact() const {
    const auto bad = [](float x) { return x != guard; };
    return std::none_of(memory_.begin(), memory_.begin() + shift_, bad) &&
           std::none_of(memory_.begin() + shift_ + n_, memory_.end(), bad);
  }

 private:
  std::vector<float> memory_;
  int64_t n_;
  int shift_;
};

// |actual - expected| is at most `tolerance` times the largest |expected| of the row.
inline void expect_close(Row& actual, const Doubles& expected, double tolerance, const std::string& what) {
  double largest = 1e-30, error = 0.0;
  for (double x : expected) largest = std::max(largest, std::abs(x));
  for (int64_t i = 0; i < actual.size(); ++i) {
    const double apart = std::abs(static_cast<double>(actual[i]) - expected[static_cast<size_t>(i)]);
    error = std::isnan(apart) ? INFINITY : std::max(error, apart);
  }
  EXPECT_LE(error / largest, tolerance) << what << ", n = " << actual.size();
  EXPECT_TRUE(actual.intact()) << what << " writes outside its row, n = " << actual.size();
}

inline void expect_same_bits(Row& a, Row& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(),
                         [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); }))
      << what << ", n = " << a.size();
}

inline void for_every_isa(const std::function<void(const RowKernels&, const std::string&)>& test) {
  for (const Kernels* k : all_kernels()) test(k->rows, std::string(k->isa));
}

}  // namespace qkv::kernel
