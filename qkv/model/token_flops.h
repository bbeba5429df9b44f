// The arithmetic of a model for one token (layer/flop_count.h), averaged: of a source of S tokens, which is the text of
// a masked model, and of a target of T tokens, in training or in decoding with a KV cache; for a masked model, of a
// masked token. Layers with the same attention variant are one part.
//
//     FlopCount all = sum_of(flops_per_target_token(config, {.source_length = 25, .target_length = 25}));
#pragma once

#include "qkv/layer/flop_count.h"
#include "qkv/model/config.h"

namespace qkv {

struct DescribeOptions {
  int64_t source_length = 25, target_length = 25;  // S and T, in tokens
  int64_t batch = 32;                              // B, in sentences
  WeightFormat weights = WeightFormat::f32;        // in which the matrices are held
};

std::vector<FlopCount> flops_per_source_token(const ModelConfig& config, const DescribeOptions& options);
std::vector<FlopCount> flops_per_target_token(const ModelConfig& config, const DescribeOptions& options);

}  // namespace qkv
