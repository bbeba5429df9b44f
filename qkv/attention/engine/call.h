// From the arguments of a call to what the engine walks over.
#pragma once

#include <vector>

#include "qkv/attention/engine/tiles.h"

namespace qkv {

// Throws when q (B,H,T,D), k (B,G,S,D) and v (B,G,S,E) do not fit together.
void check_inputs(const Tensor& q, const Tensor& k, const Tensor& v);

// The call, every part of it checked against the shapes; whether a backward will want it.
AttentionCall prepare(const Score::Prepared& prepared, const Tensor& v, const AttentionOptions& options,
                      bool with_backward);

// What a gradient may flow to: q, k, v and the parameters of the parts, in the order of the engine's gradients.
std::vector<Variable> inputs_of(const Variable& q, const Variable& k, const Variable& v,
                                const AttentionOptions& options);

// The width D of what the score makes of q and k.
int64_t prepared_width(const Tensor& q, const Tensor& k, const AttentionOptions& options);

// Whether the engine takes bf16 as it is: for products of pairs, or to read it once. Else it is given floats.
bool takes_bf16(const AttentionShape& shape, const AttentionOptions& options, bool only_forward);

}  // namespace qkv
