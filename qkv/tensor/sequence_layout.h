// Which process has which tokens of a sequence that is spread over several.
//
//     SequenceLayout layout = zigzag_layout(T, c.size());
//     Tensor mine = layout.rows_of(x, /*axis=*/2, c.rank());        // of (B,H,T,D), the tokens of this rank
//
// A layout is a list of blocks of tokens, in their order and without gaps, each with the rank that has it. A rank has its
// blocks one after another.
//
//     contiguous_layout   rank r has the r-th of N equal blocks
//     zigzag_layout       rank r has the blocks r and 2 N - 1 - r of 2 N: under a causal mask all ranks have the same work
//
// Errors   Error: blocks with gaps, a negative rank, rows that are not those of the whole sequence.
#pragma once

#include <cstdint>
#include <vector>

#include "qkv/tensor/tensor.h"

namespace qkv {

struct SequenceBlock {
  int64_t begin = 0, end = 0;
  int rank = 0;
  int64_t size() const { return end - begin; }
  friend bool operator==(const SequenceBlock&, const SequenceBlock&) = default;
};

class SequenceLayout {
 public:
  explicit SequenceLayout(std::vector<SequenceBlock> blocks);

  const std::vector<SequenceBlock>& blocks() const { return blocks_; }
  int64_t length() const { return blocks_.empty() ? 0 : blocks_.back().end; }
  int64_t rows(int rank) const;

  // The blocks of a rank, each with its first row among the rows of the rank.
  struct Held {
    size_t index;  // in blocks()
    SequenceBlock block;
    int64_t row;
  };
  std::vector<Held> held(int rank) const;

  // From the whole sequence to the rows of a rank, and back into a whole of the same shape.
  Tensor rows_of(const Tensor& whole, int axis, int rank) const;
  void put_rows(const Tensor& rows, int axis, int rank, Tensor& whole) const;

 private:
  std::vector<SequenceBlock> blocks_;
};

SequenceLayout contiguous_layout(int64_t length, int ranks);
SequenceLayout zigzag_layout(int64_t length, int ranks);

// The tokens of one rank in the zig-zag layout of a sequence that 2 N divides; by default, of a process that is alone, all.
struct ZigzagPart {
  int rank = 0, ranks = 1;

  bool is_whole() const { return ranks == 1; }
  // Of the sequence of which the rank has so many rows.
  SequenceLayout layout(int64_t rows) const;
  // The rows of the rank as runs of neighbours in the sequence.
  struct Run {
    int64_t row = 0, count = 0, position = 0;  // the first row, and its position
  };
  std::vector<Run> runs(int64_t rows) const;
};

}  // namespace qkv
