// Multi-token attention in a layer (attention/multi_token.h; Golovneva et al., 2025): neighbouring queries and keys
// look at each other's scores, heads mix their weights, and what comes out is normalised and gated head by head.
//
//     MultiTokenOptions options = multi_token_options(part, causal());
//     Variable y = finished_heads(part, multi_token_attention(q, k, v, options));
//
// In the beginning convolution and mixing change nothing.
#pragma once

#include "qkv/attention/multi_token.h"
#include "qkv/layer/attention_part.h"

namespace qkv {

MultiTokenOptions multi_token_options(const AttentionPart& part, const MaskPtr& mask);
Variable finished_heads(const AttentionPart& part, const Variable& out);

}  // namespace qkv
