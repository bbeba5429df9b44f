// Who sees whom, noted once for a shape: blocks of 64 queries by 128 keys that nobody sees, that everybody sees,
// and for the others a bit a pair. The flat list of the bits is what irregular masks answer from.
//
//     const BlockMap map(shape, {.head = false}, fill);   // fill as in Mask
//     map.classify(tile);
//
// Memory: four bytes a block, a kilobyte more for a mixed one. Tiles may lie anywhere, not only on blocks.
#pragma once

#include <functional>
#include <vector>

#include "qkv/attention/mask/mask.h"

namespace qkv {

// The axes along which a mask may differ; along the others it is noted once.
struct MaskAxes {
  bool batch = true, head = true, query = true;
};

class BlockMap {
 public:
  // `fill` is asked about every block once, by several threads.
  BlockMap(const AttentionShape& shape, const MaskAxes& axes,
           const std::function<void(const Tile& tile, uint64_t* visible)>& fill);

  bool fits(const AttentionShape& shape) const;  // made for this shape, as far as it matters
  KeyRange keys(const QueryBlock& block) const;
  Visibility classify(const Tile& tile) const;
  void fill(const Tile& tile, uint64_t* visible) const;

 private:
  // A row of blocks: 64 queries, all keys.
  struct Row {
    KeyRange keys[2];               // that anyone in the first half of the row sees, and in the second
    std::vector<int32_t> blocks;    // nobody, everybody, or where in `visible` the block begins, in blocks
    std::vector<uint64_t> visible;  // 128 words a mixed block
  };
  void note(Row& row, const Tile& tile, uint64_t* visible);
  const Row* plane_of(const QueryBlock& block) const;  // its first row
  const Row* rows_of(const QueryBlock& block) const;   // its own
  bool reaches_into_next(const QueryBlock& block) const;

  MaskAxes axes_;
  int64_t B_, H_, T_, S_;
  int64_t blocks_;  // rows of a head
  std::vector<Row> rows_;
};

}  // namespace qkv
