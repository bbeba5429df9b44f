// How a query meets a key. A score has two halves: prepare() is what can be done once for all queries and all keys
// (projections; ordinary differentiable ops), and forward()/backward() fill one tile from the prepared values.
//
//     Tensor y = attention(q, k, v, {.score = additive(w_q, w_k, w_v)});
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "qkv/attention/mask/mask.h"
#include "qkv/attention/operands.h"
#include "qkv/autograd/variable.h"

namespace qkv {

// The prepared queries and keys of a tile, and the products that fit their type.
struct ScoreOperands {
  const kernel::TileProducts* products;
  BlockOperand q;
  KeyOperand k;
};

// Where a tile adds its gradients.
struct ScoreGradients {
  float* dq_transposed;  // (D, width), rows q.stride apart
  float* dq_rows;     // (queries, D); not null for dot products of floats whose rows are whole vectors: then there
  float* dk;          // (keys, q.row_width)
  float* parameters;  // one after the other, as parameters() lists them
};

class Score {
 public:
  struct Prepared {
    Variable q, k;
  };

  virtual ~Score() = default;
  virtual Prepared prepare(const Variable& q, const Variable& k) const { return {q, k}; }
  // The width D of what prepare() returns.
  virtual int64_t prepared_width(int64_t q_width, int64_t /*k_width*/) const { return q_width; }
  // Keys that have no score are hidden.
  virtual MaskPtr mask(const AttentionShape&) const { return {}; }
  // Whether a score depends on where its key stands among the keys. Not for packed sequences.
  virtual bool reads_positions() const { return false; }
  // s (keys x width): the score of key j and query i at s[j * width + i].
  virtual void forward(const Tile& tile, const ScoreOperands& operands, float* s) const = 0;
  virtual void backward(const Tile& tile, const ScoreOperands& operands, const WeightOperand& ds,
                        const ScoreGradients& gradients) const = 0;
  // For a multiple of the dot product: which one. Only such a score is computed from bf16, and for single queries.
  // Its backward leaves the factor out: the engine multiplies dq and dk by it, once.
  virtual std::optional<float> dot_scale(int64_t /*D*/) const { return {}; }
  // What forward() reads beside q and k, and backward() gives gradients to.
  virtual std::vector<Variable> parameters() const { return {}; }
  // Operations for one pair of a query and a key, a multiply-add counted as two; projections are not.
  virtual double pair_flops(int64_t D) const { return 2.0 * static_cast<double>(D); }
  virtual std::string name() const = 0;
};

using ScorePtr = std::shared_ptr<const Score>;

}  // namespace qkv
