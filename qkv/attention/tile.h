// A tile: a block of queries by a block of keys of one batch row and one query head. Masks, scores, modifiers,
// normalizers and reweighers work on one tile at a time.
//
// Axes: B batch, H query heads, G key/value heads (G divides H; query head h reads key/value head h * G / H),
// T queries, S keys, D key width, E value width.
#pragma once

#include <cstdint>
#include <limits>

namespace qkv {

// The lengths of a call.
struct AttentionShape {
  int64_t B = 0, H = 0, G = 0, T = 0, S = 0, D = 0, E = 0;
  // The position of a query on the key axis: the last query is at the last key.
  int64_t position(int64_t query) const { return query + S - T; }
};

struct QueryBlock {
  const AttentionShape* shape = nullptr;  // of the call
  int64_t batch = 0, head = 0;
  int64_t query = 0, queries = 0;  // [query, query + queries)
  int64_t width = 0;               // queries rounded up to SIMD lanes: the row length of a tile, at most 64
  int64_t kv_head() const { return head * shape->G / shape->H; }
};

struct Tile : QueryBlock {
  int64_t key = 0, keys = 0;  // [key, key + keys)
  int64_t lane = 0;           // offset of its first query in the block that it is a strip of
};

inline constexpr int64_t max_block_queries = 64;  // mask bits of a key, one per query, are a uint64_t
inline constexpr int64_t strip_queries = 16;      // a partially masked tile is cut into strips of 16 queries
inline constexpr int64_t max_block_keys = 128;

// The score of a masked pair: its weight is exactly 0. Also the maximum of no scores.
inline constexpr float masked_score = -std::numeric_limits<float>::infinity();

}  // namespace qkv
