// Sparse patterns, by the masks of the library. The dense mask of the file must say the same, pair by pair.

#include <gtest/gtest.h>

#include "qkv/attention/mask/bigbird.h"
#include "qkv/attention/mask/blocks.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/dilated.h"
#include "qkv/attention/mask/longformer.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/mask/strided.h"
#include "qkv/attention/score/dot.h"
#include "test/golden_test/sdpa.h"

namespace qkv::golden::sparse_cases {

MaskPtr longformer_of(Case& c) {
  const Tensor list = c.tensor("global_positions").contiguous_copy();
  const auto positions = list.span<int32_t>();
  return longformer(c.integer("window"), std::vector<int64_t>(positions.begin(), positions.end()));
}

// The random blocks are those of the file: the table of the others, and these.
MaskPtr bigbird_of(Case& c) {
  const BigBirdOptions options = {.block = c.integer("block"),
                                  .window_blocks = c.integer("window_blocks"),
                                  .global_blocks = c.integers("global_blocks"),
                                  .random_blocks = 0};
  Tensor random = c.tensor("random_blocks");  // (n, r), or (H, n, r)
  if (random.rank() == 2) random = random.reshape({1, random.dim(0), random.dim(1)});
  const Tensor common = bigbird_table(c.tensor("q").dim(2), options);
  Tensor table = common.expand({1, random.dim(0), random.dim(1), random.dim(1)}).clone();
  for (int64_t h = 0; h < random.dim(0); ++h)
    for (int64_t i = 0; i < random.dim(1); ++i)
      for (int64_t r = 0; r < random.dim(2); ++r)
        if (const int32_t block = random.at<int32_t>({h, i, r}); block >= 0)
          table.data<uint8_t>()[(h * table.dim(2) + i) * table.dim(3) + block] = 1;
  return blocks(table, options.block);
}

MaskPtr pattern_of(Case& c) {
  const std::string pattern = c.text("pattern");
  if (pattern == "longformer") return longformer_of(c);
  if (pattern == "bigbird") return bigbird_of(c);
  if (pattern == "dilated") return dilated(c.integer("window"), c.integer("dilation"));
  if (pattern == "strided") return strided(c.integer("stride"));
  throw NotBuilt("pattern " + pattern + " is not known");
}

void expect_same_pairs(Case& c, const MaskPtr& mask) {
  const Tensor wanted = c.tensor("mask"), q = c.tensor("q");  // (1, 1 or H, S, S)
  const int64_t S = wanted.dim(3);
  const AttentionShape shape = {.B = q.dim(0), .H = q.dim(1), .G = q.dim(1), .T = S, .S = S, .D = 1, .E = 1};
  for (int64_t h = 0; h < wanted.dim(1); ++h)
    for (int64_t i = 0; i < S; ++i)
      for (int64_t j = 0; j < S; ++j) {
        uint64_t visible;
        mask->fill({{&shape, 0, h, i, 1, 1}, j, 1}, &visible);
        ASSERT_EQ(wanted.at<uint8_t>({0, h, i, j}) != 0, (visible & 1) != 0)
            << "head " << h << " query " << i << " key " << j;
      }
}

void sparse(Case& c) {
  c.knows({"pattern", "scale", "causal", "window", "dilation", "stride", "block", "window_blocks", "global_blocks"},
          {"q", "k", "v", "mask", "valid_lens", "global_positions", "random_blocks"});
  MaskPtr mask = pattern_of(c);
  if (c.flag("causal")) mask = mask & causal();
  expect_same_pairs(c, mask);
  if (c.holds("valid_lens")) mask = mask & padding(c.tensor("valid_lens"));
  compare_attention(c, {.score = dot(static_cast<float>(c.number("scale"))), .mask = mask});
}

const Group group("sparse", sparse);

}  // namespace qkv::golden::sparse_cases
