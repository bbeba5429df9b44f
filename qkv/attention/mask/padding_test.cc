#include "qkv/attention/mask/padding.h"

#include "qkv/attention/mask/prefix.h"
#include "qkv/base/error.h"
#include "qkv/test_support/check_mask.h"

namespace qkv::padding_test {

using namespace test;

TEST(Padding, OnlyTheFirstKeysOfARowAreReal) {
  uint64_t stream = 0;
  for (const AttentionShape& n : mask_shapes()) {
    const std::vector<int32_t> lengths = random_integers(n.B, n.S, ++stream);
    const VisibleRule real = [&](int64_t b, auto, auto, int64_t j) { return j < lengths[b]; };
    check_mask(padding(lengths), n, real);
    check_mask(padding(Tensor::from(lengths, {n.B})), n, real);
    check_mask(prefix(lengths), n, real);
  }
}

TEST(Padding, EveryQueryMayHaveItsOwnLength) {
  uint64_t stream = 100;
  for (const AttentionShape& n : mask_shapes()) {
    const std::vector<int32_t> lengths = random_integers(n.B * n.T, n.S, ++stream);
    check_mask(padding(Tensor::from(lengths, {n.B, n.T})), n,
               [&](int64_t b, auto, int64_t i, int64_t j) { return j < lengths[b * n.T + i]; });
  }
}

TEST(Padding, RejectsLengthsThatDoNotFit) {
  const AttentionShape n{.B = 2, .H = 1, .G = 1, .T = 3, .S = 5, .D = 4, .E = 4};
  const auto message = [&](const MaskPtr& mask) {
    try {
      mask->check(n);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message(padding({0, 5})), "no error");
  EXPECT_EQ(message(padding({0, 6})), "padding: lengths must be 0 to S 5, got 6");
  EXPECT_EQ(message(padding({-1, 5})), "padding: lengths must be 0 to S 5, got -1");
  EXPECT_EQ(message(padding({1, 2, 3})), "padding: 3 lengths for B 2");
  EXPECT_EQ(message(padding(Tensor::zeros({3, 2}, DType::i32))), "padding: lengths are (B 3, T 2) for B 2 and T 3");
  EXPECT_EQ(message(padding(Tensor::from(std::vector<int32_t>{0, 0, 0, 0, 0, 9}, {2, 3}))),
            "padding: lengths must be 0 to S 5, got 9");
  EXPECT_THROW(padding(Tensor::zeros({2})), Error);
}

}  // namespace qkv::padding_test
