// A call of attention(), checked and prepared for the engine.
#pragma once

#include <vector>

#include "qkv/attention/engine/select_algorithm.h"
#include "qkv/attention/options.h"
#include "qkv/tensor/tensor.h"

namespace qkv::internal {

// q and k are what the score reads, v the values: all f32, or all bf16. In the single-query algorithm k and v may have another
// type than q: bf16, or u8 for int8 rows of a cache (cache_format.h).
struct AttentionCall {
  AttentionShape shape;
  Tensor q, k, v;
  ScorePtr score;
  std::vector<ModifierPtr> modify;
  MaskPtr mask;
  NormalizerPtr normalize;
  std::vector<ReweigherPtr> reweigh;
  Algorithm algorithm = Algorithm::f32_tiles;
  bool keeps_statistics = true;  // of the softmax, for weights and a backward

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

// What gradients may flow to: q, k, v and the parameters of the mechanisms, in the order of the engine's gradients.
std::vector<Variable> inputs_of(const Variable& q, const Variable& k, const Variable& v,
                                const AttentionOptions& options);

}  // namespace qkv::internal
