// Embedding: rows of a table by id, scaled, plus position encodings (Vaswani et al., 2017, sections 3.4 and 3.5):
//
//     y[b, t] = scale * table[ids[b, t]] + positions[first_position + t]      ids (B,T) i32, table (V,C), y (B,T,C)
//
//     Variable x = embedding(ids, table, {.scale = std::sqrt(512.0f), .positions = sinusoidal(T, 512)});
//
// positions (at least first_position + T, C) may be a parameter (learned positions) and then receives a gradient.
// Errors: an id or a position outside its table, tables of different widths.
#pragma once

#include "qkv/op/weight.h"

namespace qkv {

struct EmbeddingOptions {
  float scale = 1.0f;
  Variable positions = {};
  int64_t first_position = 0;
};
Variable embedding(const Tensor& ids, const Weight& table, const EmbeddingOptions& options = {});

}  // namespace qkv
