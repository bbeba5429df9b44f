// How a query meets a key. A score has two halves: prepare() is what can be done once for all queries and all keys
// (projections; ordinary differentiable ops), and forward()/backward() fill one tile from the prepared values.
//
//     Tensor y = attention(q, k, v, {.score = additive(w_q, w_k, w_v)});
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "qkv/attention/tile.h"
#include "qkv/autograd/variable.h"

namespace qkv {

// The prepared values of a tile. The queries come twice, both multiplied by query_scale(): transposed, (D, width),
// with zero lanes past the last query; and, in the backward only, as rows.
struct ScoreOperands {
  const float* q_transposed;
  const float* q_rows;  // (queries, row_width), row_width is D rounded up to the lanes, zeros behind D
  int64_t row_width;
  const float* k;  // (keys, D)
  int64_t k_stride;
  int64_t D;
};

// Where a tile adds its gradients, laid out like the operands.
struct ScoreGradients {
  float* dq_transposed;  // (D, width)
  float* dk;             // (keys, row_width), like q_rows
  float* parameters;     // one after the other, as parameters() lists them
};

class Score {
 public:
  struct Prepared {
    Variable q, k;
  };

  virtual ~Score() = default;
  virtual Prepared prepare(const Variable& q, const Variable& k) const { return {q, k}; }
  virtual float query_scale(int64_t /*D*/) const { return 1.0f; }
  // s (keys x width): the score of key j and query i at s[j * width + i].
  virtual void forward(const Tile& tile, const ScoreOperands& operands, float* s) const = 0;
  virtual void backward(const Tile& tile, const ScoreOperands& operands, const float* ds,
                        const ScoreGradients& gradients) const = 0;
  // What forward() reads beside q and k, and backward() gives gradients to.
  virtual std::vector<Variable> parameters() const { return {}; }
  // Operations for one pair of a query and a key, a multiply-add counted as two; projections are not.
  virtual double pair_flops(int64_t D) const { return 2.0 * static_cast<double>(D); }
  virtual std::string name() const = 0;
};

using ScorePtr = std::shared_ptr<const Score>;

}  // namespace qkv
