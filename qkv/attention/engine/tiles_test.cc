#include "qkv/attention/engine/tiles.h"

#include <gtest/gtest.h>

#include "qkv/attention/mask/blocks.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/mask_mod.h"
#include "qkv/attention/mask/window.h"
#include "qkv/base/random.h"

namespace qkv::tiles_test {

using namespace internal;

constexpr AttentionShape shape = {.B = 1, .H = 1, .G = 1, .T = 512, .S = 512, .D = 4, .E = 4};

int64_t pairs_of(const PartialTile& cut) {
  int64_t pairs = 0;
  for (const PartialTile::Piece& piece : cut) pairs += piece.tile.width * piece.tile.keys;
  return pairs;
}

// Runs of keys, single keys, and queries without any.
bool sees(int64_t query, int64_t key) {
  Random random(9, static_cast<uint64_t>(query / 16 * 1000 + key / 20));
  return random.below(4) == 0 && (query * key) % 5 != 0;
}

TEST(PartialTile, PiecesHoldEveryVisiblePairOnceAndNoOther) {
  const MaskPtr mask = mask_mod([](auto, auto, int64_t query, int64_t key) { return sees(query, key); });
  mask->check(shape);
  for (const int64_t queries : {64, 50, 17, 3}) {
    for (int64_t query = 0; query + 64 <= shape.T; query += 64) {
      for (int64_t key = 0; key < shape.S; key += max_block_keys) {
        const QueryBlock block{&shape, 0, 0, query, queries, round_to_lanes(queries)};
        int times[max_block_queries][max_block_keys] = {};
        for (const PartialTile::Piece& piece : PartialTile(*mask, {block, key, max_block_keys})) {
          EXPECT_EQ(piece.tile.key % 2, 0);
          EXPECT_EQ(piece.tile.query, query + piece.tile.lane);
          for (int64_t j = 0; j < piece.tile.keys; ++j)
            for (int64_t i = 0; i < piece.tile.queries; ++i)
              if (piece.fully_visible || (piece.visible[j] >> i & 1))
                ++times[piece.tile.lane + i][piece.tile.key + j - key];
        }
        for (int64_t i = 0; i < queries; ++i)
          for (int64_t j = 0; j < max_block_keys; ++j)
            ASSERT_EQ(times[i][j], sees(query + i, key + j) ? 1 : 0) << "query " << query + i << " key " << key + j;
      }
    }
  }
}

TEST(PartialTile, ADiagonalIsCutIntoStrips) {
  const QueryBlock block{&shape, 0, 0, 128, 64, 64};
  EXPECT_EQ(pairs_of(PartialTile(*causal(), {block, 128, 64})), 16 * (16 + 32 + 48 + 64));
  const MaskPtr window16 = causal() & window(15, 0);
  EXPECT_EQ(pairs_of(PartialTile(*window16, {block, 112, 80})), 4 * 16 * (16 + 16));  // strips begin at even keys
}

TEST(PartialTile, KeysThatNoQuerySeesAreCutOffAndTheRestNeedsNoMask) {
  Tensor table = Tensor::zeros({1, 1, 8, 8}, DType::u8);
  table.data<uint8_t>()[2 * 8 + 5] = 1;
  const PartialTile cut(*blocks(table, 64), {{&shape, 0, 0, 128, 64, 64}, 256, 128});
  ASSERT_EQ(cut.end() - cut.begin(), 1);
  EXPECT_EQ(cut.begin()->tile.key, 320);
  EXPECT_EQ(cut.begin()->tile.keys, 64);
  EXPECT_EQ(cut.begin()->tile.width, 64);
  EXPECT_TRUE(cut.begin()->fully_visible);
}

TEST(PartialTile, ATileThatIsNearlyFullStaysWhole) {
  const MaskPtr mask = mask_mod([](auto, auto, int64_t query, int64_t key) { return query != 70 || key != 3; });
  mask->check(shape);
  const PartialTile cut(*mask, {{&shape, 0, 0, 64, 64, 64}, 0, 128});
  ASSERT_EQ(cut.end() - cut.begin(), 1);
  EXPECT_EQ(pairs_of(cut), 64 * 128);
  EXPECT_FALSE(cut.begin()->fully_visible);
}

}  // namespace qkv::tiles_test
