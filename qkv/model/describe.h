// A summary of a model, at most 100 columns wide: parameters layer by layer with their formulas, FLOPs per token,
// bytes.
//
//     std::fputs(describe(config).c_str(), stdout);
//     std::string at_length_100 = describe(config, {.source_length = 100, .target_length = 100});
//
// FLOPs are those of a forward pass, two for a multiply-add; a backward pass costs twice as many. Attention
// counts the (query, key) pairs that its masks leave visible, with the score of its variant. Norms, softmax,
// activations and the projections inside a score are left out: less than a hundredth.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qkv/model/config.h"

namespace qkv {

struct DescribeOptions {
  int64_t source_length = 25, target_length = 25;  // S and T, in tokens
};
std::string describe(const TransformerConfig& config, const DescribeOptions& options = {});

// A part of the FLOPs of one token, in all layers or in those with the same attention variant.
struct FlopCount {
  std::string part, formula;  // "encoder: self-attention, 25 of 25 keys", "6 * 4 C keys"
  int64_t flops;
};
// Of a token of a source of S tokens, and of a token of a target of T tokens (in training, or in decoding with a
// KV cache), on average.
std::vector<FlopCount> flops_per_source_token(const TransformerConfig& config, const DescribeOptions& options);
std::vector<FlopCount> flops_per_target_token(const TransformerConfig& config, const DescribeOptions& options);

}  // namespace qkv
