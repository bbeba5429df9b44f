// Softmax, online: the weights of a query sum to one (Milakov and Gimelshein, "Online normalizer calculation for
// softmax", 2018), with or without a sink that takes a part of them (Xiao et al., "Efficient Streaming Language
// Models with Attention Sinks", 2024; in the form of gpt-oss, 2025: a learned score that belongs to no key).
//
//     softmax()                 w_ij = exp(s_ij) / sum_j exp(s_ij)
//     softmax_with_sink(sink)   w_ij = exp(s_ij) / (exp(sink_h) + sum_j exp(s_ij))            sink (H)
//
//     Tensor y = attention(q, k, v, {.normalize = softmax_with_sink(sink)});
//
// A query that sees no key has zero weights, with a sink too. lse includes the sink.
#pragma once

#include "qkv/attention/normalize/normalizer.h"

namespace qkv {

NormalizerPtr softmax();
NormalizerPtr softmax_with_sink(const Variable& sink);

}  // namespace qkv
