// Scores: the similarity of a query and a key. prepare() does once what does not depend on pairs (projections, by
// differentiable ops); forward() and backward() compute one tile from the prepared queries and keys.
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
#include "qkv/kernel/attention_kernels.h"

namespace qkv {

// The prepared queries and keys of a tile, and the products for their type.
struct ScoreOperands {
  const kernel::TileProducts* products;
  BlockOperand q;
  KeyOperand k;
};

// The gradients that a tile adds to.
struct ScoreGradients {
  float* dq_transposed;  // (D, width), rows q.stride apart
  float* dq_rows;        // (queries, D), instead of dq_transposed; only for f32 dot products with D a multiple of
                         // the SIMD lanes, else null
  float* dk;             // (keys, q.row_width)
  float* parameters;     // in the order of parameters()
};

class Score {
 public:
  struct Prepared {
    Variable q, k;
  };

  virtual ~Score() = default;
  virtual Prepared prepare(const Variable& q, const Variable& k) const { return {q, k}; }
  // Whether prepare() changes nothing, so that keys can be read in the format of a cache.
  virtual bool reads_stored_keys() const { return false; }
  // The width D of what prepare() returns.
  virtual int64_t prepared_width(int64_t q_width, int64_t /*k_width*/) const { return q_width; }
  // Masks the keys that have no score.
  virtual MaskPtr mask(const AttentionShape&) const { return {}; }
  // Whether scores depend on the positions of the keys; attention_packed() rejects such a score.
  virtual bool reads_positions() const { return false; }
  // s (keys x width): the score of key j and query i at s[j * width + i].
  virtual void forward(const Tile& tile, const ScoreOperands& operands, float* s) const = 0;
  virtual void backward(const Tile& tile, const ScoreOperands& operands, const WeightOperand& ds,
                        const ScoreGradients& gradients) const = 0;
  // The factor of a score that is a multiple of the dot product. The bf16 and single-query algorithms take only such
  // scores. backward() leaves the factor out: the engine multiplies dq and dk by it, once.
  virtual std::optional<float> dot_scale(int64_t /*D*/) const { return {}; }
  // What forward() reads in addition to q and k, and backward() computes gradients of.
  virtual std::vector<Variable> parameters() const { return {}; }
  // Floating-point operations per (query, key) pair, without the projections; a multiply-add counts as two.
  virtual double pair_flops(int64_t D) const { return 2.0 * static_cast<double>(D); }
  virtual std::string name() const = 0;
};

using ScorePtr = std::shared_ptr<const Score>;

}  // namespace qkv
