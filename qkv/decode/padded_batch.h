// Rows of token ids as one rectangle, and how long each of them is.
//
//     Padded source = padded(rows, {.after = Tokenizer::eos});          // ids i32 (B, longest), lengths (B)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "qkv/tensor/tensor.h"

namespace qkv {

struct Padded {
  Tensor ids;                    // i32 (B,T)
  std::vector<int32_t> lengths;  // with what was put before and after
};

struct PaddedOptions {
  std::optional<int32_t> before = {}, after = {};  // a token at both ends of every row
  int64_t at_least = 0;                            // columns, more than the longest row has if need be
};
Padded padded(std::span<const std::vector<int32_t>> rows, const PaddedOptions& options = {});

}  // namespace qkv
