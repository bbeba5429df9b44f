// Multi-token attention in a layer (attention/multi_token.h; Golovneva et al., 2025): convolutions over the scores
// of neighboring queries and keys, mixing of the weights of heads, then a norm and a gate for each head.
//
//     MultiTokenOptions options = multi_token_options(part, causal());
//     Variable y = norm_and_gate(part, multi_token_attention(q, k, v, options));
//
// Convolution and mixing are initialised as the identity.
#pragma once

#include "qkv/attention/multi_token.h"
#include "qkv/layer/attention_part.h"

namespace qkv {

MultiTokenOptions multi_token_options(const AttentionPart& part, const MaskPtr& mask);
Variable norm_and_gate(const AttentionPart& part, const Variable& out);

}  // namespace qkv
