// The rows of a matrix in a format of blocks, as bytes in memory: what a file holds, without decoding.
//
//     StoredRows w = ...;                                          // rows of K numbers, one after another
//     decode_row(stored_format(w.format), w.row(3), w.K, y);
//     StoredRows some = taken_rows(w, {2, 3, 7});                   // a copy of these; neighbors are a view
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "qkv/kernel/weight_format.h"

namespace qkv {

struct StoredRows {
  WeightFormat format = WeightFormat::q8_0;
  int64_t rows = 0, K = 0;
  std::shared_ptr<const std::byte> bytes = {};  // and what keeps them: memory, or the mapping of a file

  int64_t row_bytes() const { return bytes_of(format, K); }
  const uint8_t* row(int64_t n) const { return reinterpret_cast<const uint8_t*>(bytes.get()) + n * row_bytes(); }
};

// The rows with these indices, which must be less than `rows`.
StoredRows taken_rows(const StoredRows& from, const std::vector<int64_t>& rows);

}  // namespace qkv
