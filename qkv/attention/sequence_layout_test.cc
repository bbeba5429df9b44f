#include "qkv/attention/sequence_layout.h"

#include <gtest/gtest.h>

#include "qkv/test_support/check_attention.h"

namespace qkv::sequence_layout_test {

using namespace test;

TEST(SequenceLayout, RowsOfAllRanksAreTheWhole) {
  const Tensor x = random_tensor({2, 11, 3}, 1);
  for (const int ranks : {1, 2, 3, 4, 8})
    for (const SequenceLayout& layout : {contiguous_layout(11, ranks), zigzag_layout(11, ranks),
                                         SequenceLayout({{0, 5, 0}, {5, 5, ranks - 1}, {5, 11, 0}})}) {
      Tensor y = Tensor::zeros(x.shape());
      int64_t rows = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Tensor mine = layout.rows_of(x, 1, rank);
        EXPECT_EQ(mine.dim(1), layout.rows(rank));
        rows += mine.dim(1);
        layout.put_rows(mine, 1, rank, y);
      }
      EXPECT_EQ(rows, 11);
      EXPECT_TRUE(same_bits(x, y));
    }
}

TEST(SequenceLayout, ZigzagGivesAllRanksTheSamePairsOfACausalMask) {
  const int64_t T = 1600;
  const auto pairs = [&](const SequenceLayout& layout, int rank) {
    int64_t sum = 0;
    for (const SequenceLayout::Held& held : layout.held(rank))
      for (int64_t i = held.block.begin; i < held.block.end; ++i) sum += i + 1;
    return sum;
  };
  for (const int ranks : {1, 2, 4, 8})
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(pairs(zigzag_layout(T, ranks), rank), T * (T + 1) / 2 / ranks) << rank << " of " << ranks;
  EXPECT_EQ(zigzag_layout(8, 2).blocks(), (std::vector<SequenceBlock>{{0, 2, 0}, {2, 4, 1}, {4, 6, 1}, {6, 8, 0}}));
}

TEST(SequenceLayout, RejectsGapsAndOtherLengths) {
  EXPECT_EQ(error_of([] {
              SequenceLayout({{0, 4, 0}, {5, 8, 1}});
            }),
            "sequence_layout: blocks must follow each other without gaps from token 0: the block [5, 8) follows 4");
  EXPECT_EQ(error_of([] { SequenceLayout({{0, 4, -1}}); }), "sequence_layout: a rank must not be negative, got -1");
  EXPECT_EQ(error_of([] {
              contiguous_layout(8, 2).rows_of(Tensor::zeros({7, 2}), 0, 0);
            }),
            "sequence_layout: axis 0 of (7, 2) must be the 8 tokens of the sequence");
}

}  // namespace qkv::sequence_layout_test
