// The input of a stack of blocks: rows of a table by token id, positions and token types added to them, a norm.
//
//     x[b, t] = norm( scale * table[ids[b, t]] + positions[t + position_offset] + types[types[b, t]] )
//
// The position of a token is its column, or given. A table of another width than the stack is followed by a linear
// layer without bias: table[id] (E) -> projection (C,E) -> C (Lan et al., "ALBERT", 2020, section 3.1).
//
//     TokenEmbedding embedding(table, {.scale = std::sqrt(512.0f), .positions = PositionTable::sinusoidal});
//     Variable x = embedding.forward(ids, {}, pass);                  // ids i32 (B,T), x (B,T,C)
//
// Parameters: positions (max_positions + position_offset, C) if they are learned, types, norm, projection (C,E) if it
// is there. The table (V,C) or (V,E) may be shared, and is listed by the model.
#pragma once

#include <optional>

#include "qkv/layer/linear.h"
#include "qkv/layer/norm.h"
#include "qkv/layer/pass.h"
#include "qkv/layer/sinusoidal_positions.h"

namespace qkv {

enum class PositionTable { none, sinusoidal, learned };

struct TokenEmbeddingOptions {
  int64_t width = 0;  // C; 0: that of the table
  float scale = 1.0f;
  PositionTable positions = PositionTable::none;
  SinusoidLayout sinusoids = SinusoidLayout::interleaved;
  int64_t max_positions = 1024;
  int64_t position_offset = 0;  // the row of position 0: 2 in BART and OPT
  int64_t types = 0;            // number of token types; 0: none
  std::optional<NormOptions> norm = {};
  float dropout = 0.0f;  // of the result
};

class TokenEmbedding final : public Module {
 public:
  struct Place {
    int64_t first_position = 0;  // of column 0 of the ids
    Tensor positions = {};       // i32 (B,T), the position of every token instead: of packed documents
    Tensor types = {};           // i32 (B,T), the token type of every token; none: 0
  };

  TokenEmbedding(const Parameter& table, const TokenEmbeddingOptions& options);
  Variable forward(const Tensor& ids, const Place& place, Pass& pass) const;
  void list(ModuleContents& contents) const override;
  int64_t width() const { return options_.width == 0 ? table.dim(1) : options_.width; }  // C

  Parameter table;             // (V,E), not listed
  Parameter positions, types;  // none where there are none
  std::optional<Linear> projection;
  std::optional<Norm> norm;

 private:
  Variable rows_of(const Tensor& ids) const;
  Variable with_positions(const Tensor& ids, const Place& place) const;
  Variable with_given_positions(const Tensor& ids, const Tensor& positions) const;

  TokenEmbeddingOptions options_;
  SinusoidalPositions sinusoidal_;
};

// A table of `rows` embeddings of width C, normal with deviation 1 / sqrt(C).
Parameter embedding_table(const Axis& rows, const Axis& width);

}  // namespace qkv
