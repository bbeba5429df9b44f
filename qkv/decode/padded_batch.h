// Rows of token ids as a padded batch.
//
//     PaddedBatch source = pad_batch(rows, {.append = Tokenizer::eos});          // ids i32 (B, longest), lengths (B)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "qkv/tensor/tensor.h"

namespace qkv {

struct PaddedBatch {
  Tensor ids;                    // i32 (B,T)
  std::vector<int32_t> lengths;  // of the rows, including added tokens
};

struct PadBatchOptions {
  std::optional<int32_t> prepend = {}, append = {};  // a token before and after every row
  int64_t min_length = 0;                            // T is at least this
};
PaddedBatch pad_batch(std::span<const std::vector<int32_t>> rows, const PadBatchOptions& options = {});

}  // namespace qkv
