// Rows of a spread sequence that each rank needs, from the ranks that have them, and their gradients back.
//
//     const RowExchange exchange(communicator, layout, needed);     // needed[rank]: what that rank needs
//     Tensor rows = exchange.gather(own);                           // (B,heads,rows of the layout,width) -> those needed
//     exchange.add_back(gradients, sums);                           // the transpose, f32, in a fixed order
//
// Every rank calls both, in the same order.
#pragma once

#include <vector>

#include "qkv/attention/mask/mask.h"
#include "qkv/base/communicator.h"
#include "qkv/tensor/sequence_layout.h"

namespace qkv::internal {

class RowExchange {
 public:
  // Ranges of positions, which may overlap and be empty: a row travels once.
  RowExchange(Communicator& c, const SequenceLayout& layout, std::vector<std::vector<KeyRange>> needed);

  Tensor gather(const Tensor& own) const;
  void add_back(const Tensor& gathered, const Tensor& own) const;

  // The rows of [begin, end), one of the ranges that this rank needs, in what gather() returns.
  Tensor rows_of(const Tensor& gathered, const KeyRange& range) const;

 private:
  // Neighbours that `owner` has and `reader` needs.
  struct Run {
    int64_t own_row = 0, needed_row = 0, count = 0;
  };
  std::vector<Run> runs(int owner, int reader) const;
  int64_t count(int rank) const;  // that it needs

  Communicator& communicator_;
  SequenceLayout layout_;
  std::vector<std::vector<KeyRange>> needed_;  // [rank]: disjoint, in ascending order
};

}  // namespace qkv::internal
