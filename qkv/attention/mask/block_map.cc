#include "qkv/attention/mask/block_map.h"

#include <algorithm>

#include "qkv/base/integers.h"
#include "qkv/base/threads.h"

namespace qkv::internal {
namespace {

constexpr int32_t all_masked = -1, all_visible = -2;
constexpr int64_t half = max_block_queries / 2;

void include(KeyRange& range, int64_t begin, int64_t end) {
  range = {std::min(range.begin, begin), std::max(range.end, end)};
}

// The bits of keys [key, key + keys) of a row.
void copy_bits(const std::vector<int32_t>& blocks, const std::vector<uint64_t>& visible, int64_t key, int64_t keys,
               uint64_t* out) {
  while (keys > 0) {
    const int64_t offset = key % max_block_keys, count = std::min(keys, max_block_keys - offset);
    const int32_t block = blocks[static_cast<size_t>(key / max_block_keys)];
    if (block >= 0) {
      std::copy_n(visible.data() + block * max_block_keys + offset, count, out);
    } else {
      std::fill_n(out, count, block == all_visible ? ~uint64_t{0} : 0);
    }
    key += count;
    keys -= count;
    out += count;
  }
}

// The entry common to the blocks of keys [key, key + keys), or 0 (partially masked). A tile has at most two blocks.
int32_t common_entry(const std::vector<int32_t>& blocks, int64_t key, int64_t keys) {
  const int32_t first = blocks[static_cast<size_t>(key / max_block_keys)];
  const int32_t last = blocks[static_cast<size_t>((key + keys - 1) / max_block_keys)];
  return first == last ? first : 0;
}

}  // namespace

BlockMap::BlockMap(const AttentionShape& shape, const MaskAxes& axes,
                   const std::function<void(const Tile& tile, uint64_t* visible)>& fill)
    : axes_(axes),
      B_(axes.batch ? shape.B : 1),
      H_(axes.head ? shape.H : 1),
      T_(axes.query ? shape.T : 1),
      S_(shape.S),
      blocks_(ceil_div(T_, max_block_queries)),
      rows_(static_cast<size_t>(B_ * H_ * blocks_)) {
  parallel_for(B_ * H_ * blocks_, [&](int64_t index) {
    const int64_t query = index % blocks_ * max_block_queries, bh = index / blocks_;
    const QueryBlock block{&shape,           bh / H_, bh % H_, query, std::min(max_block_queries, T_ - query),
                           max_block_queries};
    Row& row = rows_[static_cast<size_t>(index)];
    row.keys[0] = row.keys[1] = {S_, 0};
    uint64_t visible[max_block_keys];
    for (int64_t key = 0; key < S_; key += max_block_keys) {
      const Tile tile{block, key, std::min(max_block_keys, S_ - key)};
      fill(tile, visible);
      append(row, tile, visible);
    }
    row.visible.shrink_to_fit();
  });
}

void BlockMap::append(Row& row, const Tile& tile, uint64_t* visible) {
  const uint64_t queries = first_queries(tile.queries);
  uint64_t any = 0, all = queries;
  for (int64_t j = 0; j < tile.keys; ++j) {
    visible[j] &= queries;
    if (visible[j] & first_queries(half)) include(row.keys[0], tile.key + j, tile.key + j + 1);
    if (visible[j] >> half) include(row.keys[1], tile.key + j, tile.key + j + 1);
    any |= visible[j];
    all &= visible[j];
    if (!axes_.query && visible[j] != 0) visible[j] = ~uint64_t{0};  // a single row for all queries
  }
  if (any == 0 || all == queries) {
    row.blocks.push_back(any == 0 ? all_masked : all_visible);
    return;
  }
  row.blocks.push_back(static_cast<int32_t>(row.visible.size()) / static_cast<int32_t>(max_block_keys));
  row.visible.resize(row.visible.size() + static_cast<size_t>(max_block_keys));
  std::copy_n(visible, tile.keys, row.visible.end() - max_block_keys);
}

bool BlockMap::fits(const AttentionShape& shape) const {
  return S_ == shape.S && (!axes_.batch || B_ == shape.B) && (!axes_.head || H_ == shape.H) &&
         (!axes_.query || T_ == shape.T);
}

const BlockMap::Row* BlockMap::first_row(const QueryBlock& block) const {
  const int64_t batch = axes_.batch ? block.batch : 0, head = axes_.head ? block.head : 0;
  return rows_.data() + (batch * H_ + head) * blocks_;
}

const BlockMap::Row* BlockMap::row_of(const QueryBlock& block) const {
  return first_row(block) + (axes_.query ? block.query / max_block_queries : 0);
}

bool BlockMap::reaches_next_row(const QueryBlock& block) const {
  return axes_.query && block.query % max_block_queries + block.queries > max_block_queries;
}

KeyRange BlockMap::key_range(const QueryBlock& block) const {
  const Row* rows = first_row(block);
  if (!axes_.query) return rows->keys[0];
  KeyRange range{S_, 0};
  for (int64_t n = block.query / half; n * half < block.query + block.queries; ++n) {
    const KeyRange& keys = rows[n / 2].keys[n % 2];
    include(range, keys.begin, keys.end);
  }
  return range;
}

void BlockMap::fill(const Tile& tile, uint64_t* visible) const {
  const Row* row = row_of(tile);
  copy_bits(row->blocks, row->visible, tile.key, tile.keys, visible);
  const int64_t above =
      axes_.query ? tile.query % max_block_queries : 0;  // queries of the row before those of the tile
  if (above == 0) return;
  for (int64_t j = 0; j < tile.keys; ++j) visible[j] >>= above;
  if (!reaches_next_row(tile)) return;
  uint64_t below[max_block_keys];
  copy_bits(row[1].blocks, row[1].visible, tile.key, tile.keys, below);
  for (int64_t j = 0; j < tile.keys; ++j) visible[j] |= below[j] << (max_block_queries - above);
}

Visibility BlockMap::classify(const Tile& tile) const {
  const Row* row = row_of(tile);
  const int32_t here = common_entry(row->blocks, tile.key, tile.keys);
  if (here < 0 && (!reaches_next_row(tile) || common_entry(row[1].blocks, tile.key, tile.keys) == here))
    return here == all_masked ? Visibility::masked : Visibility::visible;
  uint64_t visible[max_block_keys], any = 0, all = first_queries(tile.queries);
  fill(tile, visible);
  for (int64_t j = 0; j < tile.keys; ++j) {
    any |= visible[j];
    all &= visible[j];
  }
  any &= first_queries(tile.queries);
  if (any == 0) return Visibility::masked;
  return all == first_queries(tile.queries) ? Visibility::visible : Visibility::partial;
}

}  // namespace qkv::internal
