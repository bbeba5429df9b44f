#include "qkv/tensor/sequence_layout.h"

#include <gtest/gtest.h>

#include "qkv/test_support/gradient_check.h"

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

TEST(SequenceLayout, RunsOfAPartAreTheBlocksOfItsRank) {
  for (const int ranks : {2, 3, 4})
    for (int rank = 0; rank < ranks; ++rank) {
      const ZigzagPart part = {rank, ranks};
      EXPECT_EQ(part.layout(6).blocks(), zigzag_layout(6 * ranks, ranks).blocks());
      const std::vector<ZigzagPart::Run> runs = part.runs(6);
      ASSERT_EQ(runs.size(), 2u);
      EXPECT_EQ(runs[0].position, 3 * rank);
      EXPECT_EQ(runs[1].position, 3 * (2 * ranks - 1 - rank));
      EXPECT_EQ(runs[1].row, 3);
      EXPECT_EQ(runs[1].count, 3);
    }
  ASSERT_EQ(ZigzagPart().runs(7).size(), 1u);
  EXPECT_EQ(ZigzagPart().runs(7)[0].count, 7);
  EXPECT_EQ(error_of([] {
              (void)ZigzagPart{0, 2}.layout(3);
            }),
            "sequence_layout: each of 2 ranks has two blocks of equal length of a sequence: 3 rows cannot be them");
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
