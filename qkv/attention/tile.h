// A tile: a block of queries by a block of keys of one batch row and one query head. The engine walks over tiles
// and asks the parts of the sentence about each one.
//
// Axis letters everywhere: B batch, H query heads, G key/value heads (G divides H; query head h reads key/value
// head h * G / H), T queries, S keys, D key width, E value width.
#pragma once

#include <cstdint>

namespace qkv {

// The lengths of a whole call.
struct AttentionShape {
  int64_t B = 0, H = 0, G = 0, T = 0, S = 0, D = 0, E = 0;
  // Where a query stands on the key axis: the last query stands on the last key.
  int64_t position(int64_t query) const { return query + S - T; }
};

struct QueryBlock {
  const AttentionShape* whole = nullptr;
  int64_t batch = 0, head = 0;
  int64_t query = 0, queries = 0;  // [query, query + queries)
  int64_t width = 0;  // queries rounded up to the machine's lanes: the row length of a tile, at most 64
  int64_t kv_head() const { return head * whole->G / whole->H; }
};

struct Tile : QueryBlock {
  int64_t key = 0, keys = 0;  // [key, key + keys)
  int64_t lane = 0;           // where its first query stands in the block that it is cut from
};

inline constexpr int64_t max_block_queries = 64;  // a word of mask bits holds one bit a query
inline constexpr int64_t strip_queries = 16;      // tiles at the edge of a mask are cut into strips of so many
inline constexpr int64_t max_block_keys = 128;

}  // namespace qkv
