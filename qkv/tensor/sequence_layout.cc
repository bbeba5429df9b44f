#include "qkv/tensor/sequence_layout.h"

#include <algorithm>

#include "qkv/base/collectives.h"
#include "qkv/base/error.h"

namespace qkv {

SequenceLayout::SequenceLayout(std::vector<SequenceBlock> blocks) : blocks_(std::move(blocks)) {
  int64_t end = 0;
  for (const SequenceBlock& block : blocks_) {
    require(block.begin == end && block.end >= block.begin, "sequence_layout",
            "blocks must follow each other without gaps from token 0: the block [{}, {}) follows {}", block.begin,
            block.end, end);
    require(block.rank >= 0, "sequence_layout", "a rank must not be negative, got {}", block.rank);
    end = block.end;
  }
}

int64_t SequenceLayout::rows(int rank) const {
  int64_t rows = 0;
  for (const SequenceBlock& block : blocks_)
    if (block.rank == rank) rows += block.size();
  return rows;
}

std::vector<SequenceLayout::Held> SequenceLayout::held(int rank) const {
  std::vector<Held> all;
  int64_t row = 0;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i].rank != rank) continue;
    all.push_back({i, blocks_[i], row});
    row += blocks_[i].size();
  }
  return all;
}

Tensor SequenceLayout::rows_of(const Tensor& whole, int axis, int rank) const {
  require(whole.dim(axis) == length(), "sequence_layout", "axis {} of {} must be the {} tokens of the sequence",
          axis, whole.shape(), length());
  const std::vector<Held> mine = held(rank);
  if (mine.size() == 1) return whole.slice(axis, mine[0].block.begin, mine[0].block.end);
  std::vector<int64_t> shape(whole.shape().begin(), whole.shape().end());
  shape[static_cast<size_t>(axis)] = rows(rank);
  Tensor out = Tensor::empty(Shape(shape), whole.dtype());
  for (const Held& h : mine)
    out.slice(axis, h.row, h.row + h.block.size()).copy_from(whole.slice(axis, h.block.begin, h.block.end));
  return out;
}

void SequenceLayout::put_rows(const Tensor& rows, int axis, int rank, Tensor& whole) const {
  require(whole.dim(axis) == length() && rows.dim(axis) == this->rows(rank), "sequence_layout",
          "axis {} must be {} tokens of {}: the rows are {}, the whole {}", axis, this->rows(rank), length(),
          rows.shape(), whole.shape());
  for (const Held& h : held(rank))
    whole.slice(axis, h.block.begin, h.block.end).copy_from(rows.slice(axis, h.row, h.row + h.block.size()));
}

SequenceLayout contiguous_layout(int64_t length, int ranks) {
  require(length >= 0 && ranks >= 1, "contiguous_layout", "got length {} for {} ranks", length, ranks);
  std::vector<SequenceBlock> blocks;
  for (int rank = 0; rank < ranks; ++rank) {
    const Shard shard = shard_of(length, rank, ranks);
    blocks.push_back({shard.begin, shard.end, rank});
  }
  return SequenceLayout(std::move(blocks));
}

SequenceLayout zigzag_layout(int64_t length, int ranks) {
  require(length >= 0 && ranks >= 1, "zigzag_layout", "got length {} for {} ranks", length, ranks);
  std::vector<SequenceBlock> blocks;
  for (int i = 0; i < 2 * ranks; ++i) {
    const Shard shard = shard_of(length, i, 2 * ranks);
    blocks.push_back({shard.begin, shard.end, std::min(i, 2 * ranks - 1 - i)});
  }
  return SequenceLayout(std::move(blocks));
}

SequenceLayout ZigzagPart::layout(int64_t rows) const {
  require(is_whole() || rows % 2 == 0, "sequence_layout",
          "each of {} ranks has two blocks of equal length of a sequence: {} rows cannot be them", ranks, rows);
  return zigzag_layout(rows * ranks, ranks);
}

std::vector<ZigzagPart::Run> ZigzagPart::runs(int64_t rows) const {
  if (is_whole()) return {{0, rows, 0}};
  std::vector<Run> runs;
  for (const auto& [index, block, row] : layout(rows).held(rank)) runs.push_back({row, block.size(), block.begin});
  return runs;
}

}  // namespace qkv
