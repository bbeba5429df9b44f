#include "qkv/op/maximum_inner_product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/op/linear.h"
#include "qkv/test_support/tensors.h"

namespace qkv::maximum_inner_product_test {

using namespace test;

constexpr float infinity = std::numeric_limits<float>::infinity();

// The columns of the `count` largest numbers of a row, and of those equal to them.
std::set<int32_t> largest_of(const Tensor& y, int64_t r, int64_t count) {
  const std::span<const float> row =
      y.span<float>().subspan(static_cast<size_t>(r * y.dim(1)), static_cast<size_t>(y.dim(1)));
  std::vector<float> sorted(row.begin(), row.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  std::set<int32_t> columns;
  for (int64_t n = 0; n < y.dim(1); ++n)
    if (row[static_cast<size_t>(n)] >= sorted[static_cast<size_t>(count - 1)])
      columns.insert(static_cast<int32_t>(n));
  return columns;
}

// Some rows of it are equal, and some nearly so.
Tensor rows_of_weight(int64_t N, int64_t K, uint64_t seed) {
  Tensor w = random_tensor({N, K}, seed);
  for (int64_t n = 7; n < N; n += 5)
    for (int64_t k = 0; k < K; ++k) {
      const float x = w.data<float>()[(n - 7) * K + k];
      w.data<float>()[n * K + k] = n % 2 == 0 ? x : x * (1 + 1e-6f * static_cast<float>(k % 3));
    }
  return w;
}

TEST(MaximumInnerProduct, TheLargestAreAmongTheCandidatesInEveryFormat) {
  const std::vector<int64_t> counts = {1, 3, 2};
  for (const int64_t K : {1, 31, 64, 130})
    for (const auto& [format, precision] :
         {std::pair(WeightFormat::f32, Precision::f32), std::pair(WeightFormat::bf16, Precision::f32),
          std::pair(WeightFormat::f32, Precision::bf16)})
      for (const float scale : {1.0f, 1e-36f, 1e-27f, 1e15f}) {
        const Weight w = Weight::packed(rows_of_weight(1500, K, 1), format, precision);
        Tensor x = random_tensor({3, K}, 2);
        for (float& number : x.span<float>()) number *= scale;
        x.data<float>()[0] *= 50;  // most of the other numbers of its row are small beside it
        Tensor bias;
        if (scale == 1) {
          bias = random_tensor({1500}, 3);
          bias.data<float>()[4] = -infinity;
        }
        const Tensor y = linear(x, w, bias.defined() ? Variable(bias) : Variable()).value();
        const auto found = MaximumInnerProduct(w.forward()).candidates(x, bias, counts);
        EXPECT_TRUE(found || K == 1 || scale < 1e-30f)
            << K << " " << scale;  // where many are as large, or zero in int8
        if (!found) continue;
        for (int64_t r = 0; r < 3; ++r) {
          const std::vector<int32_t>& ids = (*found)[static_cast<size_t>(r)];
          EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
          for (const int32_t n : largest_of(y, r, counts[static_cast<size_t>(r)]))
            EXPECT_TRUE(std::binary_search(ids.begin(), ids.end(), n))
                << K << " " << scale << " row " << r << " " << n;
        }
      }
}

// All that is largest is lost in the int8 copy of one factor, whose other numbers are zero there; a second column, whose copy
// loses nothing, is nearly as large.
TEST(MaximumInnerProduct, TheLargestIsACandidateWhereRoundingLosesAllOfIt) {
  constexpr int64_t K = 65, N = 100;
  const float rest = 0.49f * static_cast<float>(K - 1);
  for (const float scale : {1.0f, 1e-27f, 1e10f})
    for (const bool loses_x : {true, false}) {
      Tensor x = Tensor::full({1, K}, loses_x ? 0.49f : 1.0f), w = Tensor::zeros({N, K});
      for (int64_t k = 1; k < K; ++k) w.data<float>()[10 * K + k] = loses_x ? 1.0f : 0.49f;
      if (loses_x) {
        x.data<float>()[0] = 127;
        w.data<float>()[20 * K] = rest * 0.99f / 127;
      } else {
        x.data<float>()[0] = 0;
        w.data<float>()[10 * K] = 127;
        w.data<float>()[20 * K + 1] = rest * 0.99f;
      }
      for (float& number : x.span<float>()) number *= scale;
      const MaximumInnerProduct search(Weight(w).forward());
      const Tensor y = linear(x, w).value();
      EXPECT_EQ(largest_of(y, 0, 1), std::set<int32_t>{10});
      const auto found = search.candidates(x, {}, std::vector<int64_t>{1});
      ASSERT_TRUE(found) << scale << loses_x;
      EXPECT_EQ((*found)[0], (std::vector<int32_t>{10, 20})) << scale << loses_x;
    }
}

TEST(MaximumInnerProduct, FewOfManyColumnsAreCandidates) {
  const Weight w = random_tensor({20000, 256}, 1);
  const Tensor x = random_tensor({4, 256}, 2);
  const MaximumInnerProduct search(w.forward());
  EXPECT_GT(search.bytes(), 20000 * 256);
  EXPECT_LT(search.bytes(), 20000 * (256 + 16));
  const auto found = search.candidates(x, {}, std::vector<int64_t>(4, 1));
  ASSERT_TRUE(found);
  for (const std::vector<int32_t>& ids : *found) {
    EXPECT_GE(ids.size(), 1u);
    EXPECT_LT(ids.size(), 200u);
  }
}

TEST(MaximumInnerProduct, FindsNothingWhereNumbersAreNotFiniteOrAllAreEqual) {
  const auto search_of = [](const Tensor& w) { return MaximumInnerProduct(Weight(w).forward()); };
  const auto find = [](const MaximumInnerProduct& search, const Tensor& x) {
    return search.candidates(x, {}, std::vector<int64_t>(2, 1)).has_value();
  };
  const Tensor w = random_tensor({1000, 32}, 1), x = random_tensor({2, 32}, 2);
  EXPECT_TRUE(find(search_of(w), x));
  for (const float bad : {infinity, -infinity, std::nanf("")}) {
    Tensor other = w.clone(), row = x.clone();
    other.data<float>()[32 * 999 + 31] = bad;
    EXPECT_FALSE(find(search_of(other), x));
    row.data<float>()[40] = bad;
    EXPECT_FALSE(find(search_of(w), row));
  }
  EXPECT_FALSE(find(search_of(Tensor::full({1000, 32}, 0.5f)), x));
  EXPECT_FALSE(find(search_of(w), Tensor::zeros({2, 32})));
}

TEST(MaximumInnerProduct, RefusesShapesThatDoNotFit) {
  const MaximumInnerProduct search(Weight(random_tensor({50, 8}, 1)).forward());
  EXPECT_THROW(search.candidates(random_tensor({2, 7}, 1), {}, std::vector<int64_t>(2, 1)), Error);
  EXPECT_THROW(search.candidates(random_tensor({2, 8}, 1), {}, std::vector<int64_t>(3, 1)), Error);
  EXPECT_THROW(search.candidates(random_tensor({2, 8}, 1), random_tensor({49}, 1), std::vector<int64_t>(2, 1)),
               Error);
}

}  // namespace qkv::maximum_inner_product_test
