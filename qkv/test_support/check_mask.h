// Compares a mask with a rule of pairs: key_range(), classify() and fill() for blocks and tiles of all sizes.
//
//     check_mask(causal(), {.B = 1, .H = 1, .T = 20, .S = 30},
//                [](auto, auto, auto i, auto j) { return j <= i + 10; });
#pragma once

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "qkv/base/random.h"
#include "qkv/test_support/visible_rule.h"

namespace qkv::test {

inline void check_tile(const MaskPtr& mask, const Tile& tile, const VisibleRule& sees) {
  uint64_t visible[max_block_keys], wanted[max_block_keys] = {};
  int64_t pairs = 0;
  for (int64_t j = 0; j < tile.keys; ++j)
    for (int64_t i = 0; i < tile.queries; ++i)
      if (sees(tile.batch, tile.head, tile.query + i, tile.key + j)) {
        wanted[j] |= uint64_t{1} << i;
        ++pairs;
      }
  const Visibility visibility = mask->classify(tile);
  EXPECT_TRUE(visibility != Visibility::masked || pairs == 0);
  EXPECT_TRUE(visibility != Visibility::visible || pairs == tile.queries * tile.keys);
  mask->fill(tile, visible);
  const uint64_t lanes = tile.queries == 64 ? ~uint64_t{0} : (uint64_t{1} << tile.queries) - 1;
  for (int64_t j = 0; j < tile.keys; ++j)
    ASSERT_EQ(visible[j] & lanes, wanted[j]) << "key " << tile.key + j << " of queries from " << tile.query;
}

inline void check_mask(const MaskPtr& mask, const AttentionShape& shape, const VisibleRule& sees) {
  SCOPED_TRACE(fmt::format("{}: B {} H {} T {} S {}", mask->name(), shape.B, shape.H, shape.T, shape.S));
  mask->check(shape);
  for (int64_t b = 0; b < shape.B; ++b)
    for (int64_t h = 0; h < shape.H; ++h)
      for (const int64_t queries : {max_block_queries, int64_t{5}})
        for (int64_t query = 0; query < shape.T; query += queries) {
          const QueryBlock block{&shape, b, h, query, std::min(queries, shape.T - query), max_block_queries};
          const KeyRange range = mask->key_range(block);
          if (range.begin < range.end) {
            EXPECT_GE(range.begin, 0);
            EXPECT_LE(range.end, shape.S);
          }
          for (int64_t i = query; i < query + block.queries; ++i)
            for (int64_t j = 0; j < shape.S; ++j)
              ASSERT_TRUE(!sees(b, h, i, j) || (j >= range.begin && j < range.end))
                  << "query " << i << " key " << j;
          for (const int64_t keys : {max_block_keys, int64_t{7}, int64_t{1}})
            for (const int64_t shift : {int64_t{0}, keys / 3})  // tiles may begin anywhere
              for (int64_t key = shift; key < shape.S; key += keys)
                check_tile(mask, {block, key, std::min(keys, shape.S - key)}, sees);
        }
}

// key_range() begins with the first key that a query of the block sees, and ends with the last.
inline void expect_exact_keys(const MaskPtr& mask, const AttentionShape& shape, const VisibleRule& sees) {
  SCOPED_TRACE(fmt::format("{}: B {} H {} T {} S {}", mask->name(), shape.B, shape.H, shape.T, shape.S));
  mask->check(shape);
  for (int64_t b = 0; b < shape.B; ++b)
    for (int64_t h = 0; h < shape.H; ++h)
      for (int64_t query = 0; query < shape.T; query += max_block_queries / 2) {
        const int64_t maximum = query % max_block_queries == 0 ? max_block_queries : max_block_queries / 2;
        const QueryBlock block{&shape, b, h, query, std::min(maximum, shape.T - query), max_block_queries};
        int64_t begin = shape.S, end = 0;
        for (int64_t i = query; i < query + block.queries; ++i)
          for (int64_t j = 0; j < shape.S; ++j)
            if (sees(b, h, i, j)) {
              begin = std::min(begin, j);
              end = std::max(end, j + 1);
            }
        const KeyRange range = mask->key_range(block);
        if (begin >= end) {
          EXPECT_GE(range.begin, range.end) << "queries from " << query;
        } else {
          EXPECT_EQ(range.begin, begin) << "queries from " << query;
          EXPECT_EQ(range.end, end) << "queries from " << query;
        }
      }
}

// A few shapes with T below, at and above S, blocks that end early, and single queries and keys.
inline std::vector<AttentionShape> mask_shapes() {
  std::vector<AttentionShape> shapes;
  for (const auto& [T, S] : {std::pair<int64_t, int64_t>{1, 1}, {1, 9}, {9, 1}, {64, 128}, {65, 129}, {150, 40}})
    shapes.push_back({.B = 2, .H = 2, .G = 1, .T = T, .S = S, .D = 4, .E = 4});
  Random random(5);
  for (int n = 0; n < 6; ++n)
    shapes.push_back({.B = 1,
                      .H = 2,
                      .G = 1,
                      .T = 1 + static_cast<int64_t>(random.below(100)),
                      .S = 1 + static_cast<int64_t>(random.below(100)),
                      .D = 4,
                      .E = 4});
  return shapes;
}

// n random integers from 0 to `maximum`.
inline std::vector<int32_t> random_integers(int64_t n, int64_t maximum, uint64_t stream) {
  Random random(6, stream);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < n; ++i)
    ids.push_back(static_cast<int32_t>(random.below(static_cast<uint64_t>(maximum) + 1)));
  return ids;
}

}  // namespace qkv::test
