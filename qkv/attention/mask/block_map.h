// A mask evaluated once for a shape: blocks of 64 queries by 128 keys are all masked, all visible, or stored as one
// bit per pair. Irregular masks are looked up in it.
//
//     const BlockMap map(shape, {.head = false}, fill);   // fill as in Mask
//     map.classify(tile);
//
// Memory: four bytes per block, and a kilobyte more per partially masked block. Tiles may begin anywhere, not only
// at blocks.
#pragma once

#include <functional>
#include <vector>

#include "qkv/attention/mask/mask.h"

namespace qkv::internal {

// The axes that a mask depends on; along the others it is stored once.
struct MaskAxes {
  bool batch = true, head = true, query = true;
};

class BlockMap {
 public:
  // `fill` is called once for every block, by several threads.
  BlockMap(const AttentionShape& shape, const MaskAxes& axes,
           const std::function<void(const Tile& tile, uint64_t* visible)>& fill);

  bool fits(const AttentionShape& shape) const;  // equal on the axes that the mask depends on
  KeyRange key_range(const QueryBlock& block) const;
  Visibility classify(const Tile& tile) const;
  void fill(const Tile& tile, uint64_t* visible) const;

 private:
  // A row of blocks: 64 queries, all keys.
  struct Row {
    KeyRange keys[2];               // visible to any query of the first half of the row, and of the second
    std::vector<int32_t> blocks;    // all_masked, all_visible, or the index of the block in `visible`
    std::vector<uint64_t> visible;  // the bits of partially masked blocks, one uint64_t per key, 128 per block
  };
  void append(Row& row, const Tile& tile, uint64_t* visible);
  const Row* first_row(const QueryBlock& block) const;  // of the head
  const Row* row_of(const QueryBlock& block) const;
  bool reaches_next_row(const QueryBlock& block) const;

  MaskAxes axes_;
  int64_t B_, H_, T_, S_;
  int64_t blocks_;  // rows per head
  std::vector<Row> rows_;
};

}  // namespace qkv::internal
