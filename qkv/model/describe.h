// A model as a table for people: parameters layer by layer with their formulas, arithmetic per token, bytes.
//
//     std::fputs(describe(config).c_str(), stdout);
//     std::string at_length_100 = describe(config, {.source_length = 100, .target_length = 100});
//
// Arithmetic is counted in FLOPs, two for a multiplication with its addition, of a forward pass; a backward pass
// costs twice as much again. Norms, softmax and activations are left out: they are less than a hundredth.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qkv/model/config.h"

namespace qkv {

struct DescribeOptions {
  int64_t source_length = 25, target_length = 25;  // S and T, tokens of the sentences
};
std::string describe(const TransformerConfig& config, const DescribeOptions& options = {});

// The arithmetic of one token, part by part.
struct FlopCount {
  std::string part, formula;  // "encoder layers", "N (4 C^2 + 4 C K + 4 C F + 4 S C)"
  int64_t flops;
};
// A source token is read once; a target token is computed when a sentence of T is trained on, or generated with
// the keys and values of its past kept.
std::vector<FlopCount> flops_per_source_token(const TransformerConfig& config, const DescribeOptions& options);
std::vector<FlopCount> flops_per_target_token(const TransformerConfig& config, const DescribeOptions& options);

}  // namespace qkv
