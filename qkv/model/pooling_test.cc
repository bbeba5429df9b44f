#include "qkv/model/pooling.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/test_support/tensors.h"

namespace qkv::pooling_test {

using namespace test;

const std::vector<int32_t> lengths = {5, 1, 7, 3};

std::vector<double> reference(const Tensor& hidden, const PoolingOptions& options) {
  const int64_t T = hidden.dim(1), C = hidden.dim(2);
  const std::vector<double> x = doubles(hidden);
  std::vector<double> out;
  for (size_t b = 0; b < lengths.size(); ++b) {
    double squares = 0;
    const size_t first = out.size();
    for (int64_t c = 0; c < C; ++c) {
      const auto at = [&](int64_t t) { return x[static_cast<size_t>((static_cast<int64_t>(b) * T + t) * C + c)]; };
      double value = options.pooling == Pooling::first ? at(0) : at(lengths[b] - 1);
      if (options.pooling == Pooling::mean) {
        value = 0;
        for (int64_t t = 0; t < lengths[b]; ++t) value += at(t) / lengths[b];
      }
      squares += value * value;
      out.push_back(value);
    }
    for (size_t i = first; i < out.size() && options.normalize; ++i) out[i] /= std::sqrt(squares);
  }
  return out;
}

TEST(Pooling, EqualsDoublePrecision) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor hidden = random_tensor({4, 7, 33}, 1, 3.0, dtype);
    for (const Pooling pooling : {Pooling::mean, Pooling::first, Pooling::last})
      for (const bool normalize : {false, true}) {
        const PoolingOptions options{.pooling = pooling, .normalize = normalize};
        const Tensor out = pool(hidden, lengths, options);
        EXPECT_EQ(out.shape(), (Shape{4, 33}));
        EXPECT_LT(largest_difference(doubles(out), reference(hidden, options)), 2e-7 * (normalize ? 1 : 10));
        EXPECT_TRUE(same_bits(out, pool(with_gaps_between_rows(hidden), lengths, options)));
      }
  }
}

TEST(Pooling, ASentenceDependsNeitherOnPaddingNorOnNeighborsNorOnThreads) {
  const int before = threads();
  const Tensor hidden = random_tensor({4, 7, 20}, 2);
  Tensor filled = hidden.clone();
  for (int64_t b = 0; b < 4; ++b)
    for (int64_t t = lengths[static_cast<size_t>(b)]; t < 7; ++t)
      filled.slice(0, b, b + 1).slice(1, t, t + 1).fill(std::numeric_limits<float>::quiet_NaN());
  for (const Pooling pooling : {Pooling::mean, Pooling::first, Pooling::last}) {
    const PoolingOptions options{.pooling = pooling, .normalize = true};
    set_threads(1);
    const Tensor one = pool(hidden, lengths, options);
    set_threads(2);
    EXPECT_TRUE(same_bits(one, pool(filled, lengths, options)));
    const Tensor alone = pool(hidden.slice(0, 3, 4).slice(1, 0, 3), std::vector<int32_t>{3}, options);
    EXPECT_TRUE(same_bits(alone, one.slice(0, 3, 4)));
  }
  set_threads(before);
}

TEST(Pooling, AZeroVectorStaysZero) {
  const Tensor out = pool(Tensor::zeros({4, 7, 3}), lengths, {.normalize = true});
  EXPECT_TRUE(same_bits(out, Tensor::zeros({4, 3})));
}

TEST(Pooling, ErrorsNameTheArgument) {
  const Tensor hidden = Tensor::zeros({2, 3, 4});
  EXPECT_THROW(pool(hidden, std::vector<int32_t>{3}), Error);
  EXPECT_THROW(pool(hidden, std::vector<int32_t>{3, 4}), Error);
  EXPECT_THROW(pool(hidden, std::vector<int32_t>{0, 3}), Error);
  EXPECT_THROW(pool(Tensor::zeros({2, 3}), std::vector<int32_t>{3, 3}), Error);
  EXPECT_THROW(pool(Tensor::zeros({2, 3, 4}, DType::i32), std::vector<int32_t>{3, 3}), Error);
}

}  // namespace qkv::pooling_test
