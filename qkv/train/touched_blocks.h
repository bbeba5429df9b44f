// The blocks of a gradient that are not zero on every rank: those of an embedding whose rows a batch has touched. Only they travel.
//
//     const TouchedBlocks touched(c, numbers);                  // all ranks call it, with as many numbers
//     Tensor packed = touched.pack(numbers);
//     all_reduce(c, packed, format);
//     touched.unpack(packed, numbers);
//
// A sum of zeros is zero, so the bits are those of an exchange of all numbers. Blocks are of 256 numbers; where most of them are
// touched, packed is the numbers themselves.
// Cost   a bit of each block to all ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "qkv/base/collectives.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

class TouchedBlocks {
 public:
  // numbers: f32 (n).
  TouchedBlocks(Communicator& c, const Tensor& numbers);

  bool are_most() const { return runs_.empty(); }
  Tensor pack(const Tensor& numbers) const;
  void unpack(const Tensor& packed, Tensor& numbers) const;
  // What a range of the numbers is in the packed ones.
  Shard packed(const Shard& range) const;

 private:
  struct Run {
    int64_t begin = 0, end = 0;  // of the numbers
    int64_t packed = 0;          // where it begins among the packed ones
  };
  std::vector<Run> runs_;  // none: all numbers are packed
};

}  // namespace qkv
