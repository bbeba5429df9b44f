#include "qkv/attention/mask/blocks.h"

#include "qkv/base/error.h"
#include "qkv/test_support/check_mask.h"

namespace qkv::blocks_test {

using namespace test;

// A random third of the blocks, different for every batch row and head of the table.
Tensor random_table(const AttentionShape& n, int64_t B, int64_t H, int64_t block) {
  const auto count = [&](int64_t positions) { return (positions + block - 1) / block; };
  Random random(7, static_cast<uint64_t>(block));
  Tensor table = Tensor::empty({B, H, count(n.T), count(n.S)}, DType::u8);
  for (uint8_t& x : table.span<uint8_t>()) x = random.below(3) == 0;
  return table;
}

TEST(Blocks, EqualTheirTable) {
  for (const AttentionShape& n : mask_shapes())
    for (const int64_t block : {1, 16, 50, 64, 200})
      for (const bool apart : {false, true}) {
        const Tensor table = random_table(n, apart ? n.B : 1, apart ? n.H : 1, block);
        const VisibleRule sees = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
          return table.at<uint8_t>({apart ? b : 0, apart ? h : 0, i / block, j / block}) != 0;
        };
        check_mask(blocks(table, block), n, sees);
      }
}

TEST(Blocks, ClassifyTilesOfWholeBlocksExactly) {
  const AttentionShape n{.B = 1, .H = 1, .G = 1, .T = 128, .S = 256, .D = 4, .E = 4};
  Tensor table = Tensor::zeros({1, 1, 2, 4}, DType::u8);
  table.data<uint8_t>()[1] = table.data<uint8_t>()[2] = 1;  // queries [0, 64) see keys [64, 192)
  const MaskPtr mask = blocks(table, 64);
  const QueryBlock first{&n, 0, 0, 0, 64, 64}, second{&n, 0, 0, 64, 64, 64};
  EXPECT_EQ(mask->key_range(first).begin, 64);
  EXPECT_EQ(mask->key_range(first).end, 192);
  EXPECT_GE(mask->key_range(second).begin, mask->key_range(second).end);
  EXPECT_EQ(mask->classify({first, 64, 128}), Visibility::visible);
  EXPECT_EQ(mask->classify({first, 0, 128}), Visibility::partial);
  EXPECT_EQ(mask->classify({first, 192, 64}), Visibility::masked);
}

TEST(Blocks, RejectInvalidTablesAndSizes) {
  const AttentionShape n{.B = 2, .H = 1, .G = 1, .T = 100, .S = 100, .D = 4, .E = 4};
  EXPECT_THROW(blocks(Tensor::zeros({1, 1, 2, 2}), 64), Error) << "floats";
  EXPECT_THROW(blocks(Tensor::zeros({2, 2}, DType::u8), 64), Error) << "two axes";
  EXPECT_THROW(blocks(Tensor::zeros({1, 1, 2, 2}, DType::u8), 0), Error) << "a block size of 0";
  EXPECT_THROW(blocks(Tensor::zeros({1, 1, 2, 3}, DType::u8), 64)->check(n), Error) << "too many blocks of keys";
  EXPECT_NO_THROW(blocks(Tensor::zeros({2, 1, 2, 2}, DType::u8), 64)->check(n));
}

}  // namespace qkv::blocks_test
