// A call of attention(), checked and prepared for the engine.
#pragma once

#include <vector>

#include "qkv/attention/engine/select_algorithm.h"
#include "qkv/attention/options.h"
#include "qkv/tensor/tensor.h"

namespace qkv::internal {

// What is computed of a call that is spread over processes (parts.h). The tensors have the heads, queries and keys of the part;
// masks, modifiers and reweighers get their places in the whole call.
struct AttentionPart {
  int64_t head = 0, heads = 0, query = 0, queries = 0, key = 0, keys = 0;
};
inline AttentionPart whole(const AttentionShape& shape) { return {0, shape.H, 0, shape.T, 0, shape.S}; }

// q and k are what the score reads, v the values: all f32, or all bf16. In the single-query algorithm k and v may have another
// type than q: bf16, or u8 for int8 rows of a cache (cache_format.h).
struct AttentionCall {
  AttentionShape shape;  // of the whole call
  AttentionPart part;
  Tensor q, k, v;
  ScorePtr score;
  std::vector<ModifierPtr> modify;
  MaskPtr mask;
  NormalizerPtr normalize;
  std::vector<ReweigherPtr> reweigh;
  Algorithm algorithm = Algorithm::f32_tiles;
  bool keeps_statistics = true;  // of the softmax, for weights and a backward

  // Whether a backward counts the gradient of the normalizer that does not depend on keys: one part of a query does.
  bool counts_normalizer = true;

  // The first key/value head of the part, and their number.
  int64_t kv_head() const { return part.head * shape.G / shape.H; }
  int64_t kv_heads() const { return part.heads * shape.G / shape.H; }
  bool is_bf16() const { return q.dtype() == DType::bf16; }
};

// Throws when q (B,H,T,D), k (B,G,S,D) and v (B,G,S,E) do not fit together.
void check_inputs(const Tensor& q, const Tensor& k, const Tensor& v);

// The same for keys and values of a cache, of any format.
void check_shapes(const Tensor& q, const Tensor& k, const Tensor& v);

// The shape of the call for prepared queries and keys; inputs that passed check_inputs().
AttentionShape shape_of(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options);

// Checks every mechanism against the shapes and selects the algorithm. bf16 inputs stay bf16: where the selected algorithm
// does not read them, the caller converts and prepares again.
AttentionCall prepare(const Score::Prepared& prepared, const Tensor& v, const AttentionOptions& options,
                      bool with_backward);
// The same for queries and keys that are a part of a call with this shape; `part` is still that of the whole call.
AttentionCall prepare(const Score::Prepared& prepared, const Tensor& v, const AttentionOptions& options,
                      bool with_backward, const AttentionShape& shape);

// What gradients may flow to: q, k, v and the parameters of the mechanisms, in the order of the engine's gradients.
std::vector<Variable> inputs_of(const Variable& q, const Variable& k, const Variable& v,
                                const AttentionOptions& options);

}  // namespace qkv::internal
