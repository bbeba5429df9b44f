#include "qkv/attention/mask/dense.h"

#include "qkv/base/error.h"
#include "qkv/test_support/check_mask.h"

namespace qkv::dense_test {

using namespace test;

TEST(Dense, EqualsItsTableAndBroadcastsAxesOfLengthOne) {
  uint64_t stream = 0;
  for (const AttentionShape& n : mask_shapes())
    for (const int axes : {0, 3, 4, 7, 11, 15}) {  // which axes of the table have length 1
      const auto length = [&](int axis, int64_t full) { return axes >> axis & 1 ? 1 : full; };
      const Shape shape{length(0, n.B), length(1, n.H), length(2, n.T), length(3, n.S)};
      const std::vector<int32_t> values = random_integers(shape.numel(), 3, ++stream);
      Tensor table = Tensor::empty(shape, DType::u8);
      for (int64_t i = 0; i < table.numel(); ++i) table.data<uint8_t>()[i] = values[i] == 0 ? 0 : 2;
      const uint8_t* data = table.data<uint8_t>();
      check_mask(dense(table), n, [&](int64_t b, int64_t h, int64_t i, int64_t j) {
        const auto at = [&](int axis, int64_t index) { return shape[axis] == 1 ? 0 : index; };
        return data[((at(0, b) * shape[1] + at(1, h)) * shape[2] + at(2, i)) * shape[3] + at(3, j)] != 0;
      });
    }
}

TEST(Dense, ReadsATableOfAnyStrides) {
  const AttentionShape n{.B = 1, .H = 1, .G = 1, .T = 20, .S = 30, .D = 4, .E = 4};
  Tensor table = Tensor::zeros({1, 1, 30, 20}, DType::u8);
  for (int64_t j = 0; j < 30; ++j)
    for (int64_t i = 0; i < 20; ++i) table.data<uint8_t>()[j * 20 + i] = i + j < 25;
  check_mask(dense(table.transpose(2, 3)), n, [](auto, auto, int64_t i, int64_t j) { return i + j < 25; });
}

TEST(Dense, KeyRangeIsExact) {
  const AttentionShape n{.B = 2, .H = 1, .G = 1, .T = 130, .S = 300, .D = 4, .E = 4};
  Tensor table = Tensor::zeros({2, 1, 130, 300}, DType::u8);
  const VisibleRule sees = [](int64_t b, auto, int64_t i, int64_t j) {
    return b == 0 && j > i && j < 2 * i && j % 5 == 0;
  };
  for (int64_t i = 0; i < 130; ++i)
    for (int64_t j = 0; j < 300; ++j) table.data<uint8_t>()[i * 300 + j] = sees(0, 0, i, j);
  check_mask(dense(table), n, sees);
  expect_exact_keys(dense(table), n, sees);
  expect_exact_keys(dense(table.slice(0, 0, 1).slice(2, 100, 101)), n,
                    [&](auto, auto, auto, int64_t j) { return sees(0, 0, 100, j); });
}

TEST(Dense, RejectsOtherShapesAndTypes) {
  const AttentionShape n{.B = 2, .H = 1, .G = 1, .T = 3, .S = 5, .D = 4, .E = 4};
  try {
    dense(Tensor::zeros({1, 1, 3, 4}, DType::u8))->check(n);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "dense: the table is (B 1, H 1, T 3, S 4); each axis must be 1 or as in (B 2, H 1, T 3, S 5)");
  }
  EXPECT_THROW(dense(Tensor::zeros({1, 1, 3, 5})), Error);
  EXPECT_THROW(dense(Tensor::zeros({3, 5}, DType::u8)), Error);
}

}  // namespace qkv::dense_test
