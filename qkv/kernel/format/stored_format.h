// Rows of numbers in the quantised formats of GGUF files: blocks of 32 or 256 adjacent numbers, decoded and encoded one
// block at a time. A header for each format has the layout of its block (q8_0.h, q4_k.h, ...).
//
//     const StoredFormat& format = stored_format(WeightFormat::q4_k);
//     std::vector<uint8_t> bytes(row_bytes(format, K));
//     if (encode_row(format, x, K, bytes.data())) decode_row(format, bytes.data(), K, y);   // y is x, rounded
//
// Decoding gives the floats that the definition of the format gives, and so the bits of every other reader. Encoding
// has the same bits on every machine; those of ggml for q8_0, q4_0, q4_1, q5_0 and q5_1. In the others the scales are
// the best that a search finds (scale_search.h). A row whose numbers are not finite, or too large for the f16 scales,
// is refused. Error: a K that is not a whole number of blocks; a format that has no blocks (f32, bf16, int8).
#pragma once

#include <cstdint>

#include "qkv/kernel/format/block.h"
#include "qkv/kernel/weight_format.h"

namespace qkv {

struct StoredFormat {
  WeightFormat format;
  const char* name;
  int block;                                         // numbers of a block
  int block_bytes;                                   // and its bytes
  bool (*encode)(const float* x, BlockNumbers& to);  // false: it cannot hold these numbers; `to` is undefined
  void (*put_together)(const BlockNumbers& from, uint8_t* block);
  void (*take_apart)(const uint8_t* block, BlockNumbers& to);  // its inverse
};

bool has_blocks(WeightFormat format);
const StoredFormat& stored_format(WeightFormat format);

int64_t row_bytes(const StoredFormat& format, int64_t K);
bool encode_row(const StoredFormat& format, const float* x, int64_t K, uint8_t* to);
void decode_row(const StoredFormat& format, const uint8_t* from, int64_t K, float* y);

}  // namespace qkv
