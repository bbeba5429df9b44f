// One vector for a sentence from the hidden states of its tokens: sentence embeddings.
//
//     Tensor e = pool(hidden, lengths, {.pooling = Pooling::mean, .normalize = true});     // (B,T,C) to (B,C)
//     float similarity = dot(e.select(0, 0), e.select(0, 1));                              // cosine
//
//     mean     the mean over the tokens of the sentence (Reimers and Gurevych, "Sentence-BERT", 2019)
//     first    the first token, such as BERT's [CLS]
//     last     the last token, for models with causal attention
//     max      the largest value of each column
//     mean-sqrt-length    the sum, divided by the root of the number of tokens
//
// normalize divides by the L2 norm; a zero vector stays zero.
// Shapes: hidden (B,T,C) f32 or bf16, lengths (B), the result (B,C) f32. Positions from its length on are not read:
// a sentence does not depend on padding nor on its neighbors.
// Errors: Error for shapes that do not fit and lengths outside 1 to T.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "qkv/base/names.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

enum class Pooling { mean, first, last, max, mean_sqrt_length };
constexpr auto names_of(Pooling) {
  return std::array{Named{Pooling::mean, "mean"}, Named{Pooling::first, "first"}, Named{Pooling::last, "last"},
                    Named{Pooling::max, "max"}, Named{Pooling::mean_sqrt_length, "mean-sqrt-length"}};
}

struct PoolingOptions {
  Pooling pooling = Pooling::mean;
  bool normalize = false;
};

Tensor pool(const Tensor& hidden, std::span<const int32_t> lengths, const PoolingOptions& options = {});

// Rows divided by their L2 norms.
Tensor normalized_rows(const Tensor& rows);

}  // namespace qkv
