// The online softmax: the weights of a query sum to 1 (Milakov and Gimelshein, "Online normalizer calculation for
// softmax", 2018), or with an attention sink to less (Xiao et al., "Efficient Streaming Language Models with
// Attention Sinks", 2024; as in gpt-oss, 2025: a learned score per head that belongs to no key).
//
//     softmax()                 w_ij = exp(s_ij) / sum_j exp(s_ij)
//     softmax_with_sink(sink)   w_ij = exp(s_ij) / (exp(sink_h) + sum_j exp(s_ij))            sink (H)
//
//     Tensor y = attention(q, k, v, {.normalize = softmax_with_sink(sink)});
//
// A query without visible keys has zero weights, with a sink too. lse includes the sink.
// Errors: a sink that is not one number per query head.
#pragma once

#include "qkv/attention/normalize/normalizer.h"

namespace qkv {

NormalizerPtr softmax();
NormalizerPtr softmax_with_sink(const Variable& sink);

}  // namespace qkv
