// A summary of a layer by itself, from a line of text: parameters with their formula, with and without biases, FLOPs of
// a token, arithmetic intensity, bytes of its cache.
//
//     std::fputs(describe_layer("attention d=512 heads=8 kv-heads=2 window=64").c_str(), stdout);
//     std::fputs(describe_layer("ffn d=512 ffn=1376 gated", {.target_length = 100}).c_str(), stdout);
//
//     attention  d, heads, kv-heads, head-width, source-width (of queries, keys and values), key-width, value-width (of
//                the sources of cross-attention), fused-qkv, cross, causal, and mechanisms of attention variants: window=64
//     ffn        d, ffn, gated             norm  d, rms             linear  in, out
//     gru, lstm  in (d unless given), d    embedding  vocabulary, d
//
// no-bias leaves the biases out. Lengths: T of options.target_length, S of options.source_length with `cross`.
// Errors: UsageError that names the word and says what is accepted.
#pragma once

#include <string>
#include <string_view>

#include "qkv/model/token_flops.h"

namespace qkv {

std::string describe_layer(std::string_view text, const DescribeOptions& options = {});

}  // namespace qkv
