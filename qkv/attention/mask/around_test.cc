#include "qkv/attention/mask/around.h"

#include <cmath>

#include "qkv/test_support/check_mask.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::around_test {

using namespace test;

// Centers from well before the first key to well after the last.
Tensor centers(const Shape& shape, int64_t S, uint64_t stream) {
  Tensor x = random_tensor(shape, stream, static_cast<double>(S));
  for (float& value : x.span<float>()) value += static_cast<float>(S) / 2;
  return x;
}

TEST(Around, ShowsTheKeysWithinTheRadius) {
  for (const AttentionShape& n : mask_shapes())
    for (const double radius : {0.0, 0.5, 3.0, 70.25}) {
      const Tensor of_heads = centers({n.B, n.H, n.T}, n.S, 1), shared = centers({n.B, n.T}, n.S, 2);
      const auto near = [radius](float center, int64_t j) {
        return std::abs(static_cast<double>(j) - static_cast<double>(center)) <= radius;
      };
      check_mask(around(of_heads, radius), n, [&](int64_t b, int64_t h, int64_t i, int64_t j) {
        return near(of_heads.at<float>({b, h, i}), j);
      });
      check_mask(around(shared, radius), n, [&](int64_t b, int64_t, int64_t i, int64_t j) {
        return near(shared.at<float>({b, i}), j);
      });
      expect_exact_keys(around(shared, radius), n, [&](int64_t b, int64_t, int64_t i, int64_t j) {
        return near(shared.at<float>({b, i}), j);
      });
    }
}

TEST(Around, IncludesItsBounds) {
  const AttentionShape n{.B = 1, .H = 1, .G = 1, .T = 2, .S = 9, .D = 1, .E = 1};
  check_mask(around(Tensor::from({3, 4.5f}, {1, 2}), 1.5), n,
             [](int64_t, int64_t, int64_t i, int64_t j) { return i == 0 ? j >= 2 && j <= 4 : j >= 3 && j <= 6; });
}

TEST(Around, RejectsInvalidCentersAndRadii) {
  const AttentionShape n{.B = 1, .H = 2, .G = 2, .T = 3, .S = 9, .D = 1, .E = 1};
  EXPECT_EQ(error_of([&] {
              around(Tensor::zeros({1, 1, 3}), 1)->check(n);
            }),
            "around: the centers are (B 1, H 1, T 3) for B 1, H 2 and T 3");
  EXPECT_EQ(error_of([&] {
              around(Tensor::zeros({3, 1}), 1)->check(n);
            }),
            "around: the centers are (B 3, T 1) for B 1, H 2 and T 3");
  EXPECT_EQ(error_of([] { around(Tensor::zeros({3}), 1); }),
            "around: centers must be f32 of shape (B, H, T) or (B, T), got f32 (3)");
  EXPECT_EQ(error_of([] { around(Tensor::zeros({1, 3}), -1); }), "around: the radius must not be negative, got -1");
  EXPECT_EQ(error_of([] {
              around(Tensor::full({1, 3}, NAN), 1);
            }),
            "around: centers must be finite numbers, got nan");
}

}  // namespace qkv::around_test
