// First keys: every query sees them, in every row of the batch. With a sliding window they are the attention sinks
// of StreamingLLM (Xiao et al., "Efficient Streaming Language Models with Attention Sinks", 2024, section 3.2).
//
//     visible(i, j)  <=>  j < count
//
//     Tensor y = attention(q, k, v, {.mask = causal() & (window(256) | first_keys(4))});
//
// Like prefix() with the same length for every row, but for batches of any size. With a count beyond S all keys are
// visible. Errors: a negative count.
#pragma once

#include "qkv/attention/mask/mask.h"

namespace qkv {

MaskPtr first_keys(int64_t count);

}  // namespace qkv
