// Rows of token ids of different lengths as one rectangle, and back.
//
//     Padded source = padded(rows, {.after = eos});          // ids i32 (B, longest), lengths
//
// Positions past a row's length hold 0. Without rows, or with empty ones alone, the rectangle is one position wide.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/tensor/tensor.h"

namespace qkv {

struct Padded {
  Tensor ids;                    // i32 (B,T)
  std::vector<int32_t> lengths;  // with what was put before and after
};

struct PaddedOptions {
  int32_t before = -1, after = -1;  // a token put before and after every row; -1: none
};
Padded padded(std::span<const std::vector<int32_t>> rows, const PaddedOptions& options = {});

}  // namespace qkv
