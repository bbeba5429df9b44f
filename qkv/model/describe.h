// A summary of a model of any architecture, at most 100 columns wide: parameters layer by layer with their formulas,
// FLOPs per token and their arithmetic intensity, a step of decoding, bytes.
//
//     std::fputs(describe(config).c_str(), stdout);
//     std::string at_length_100 = describe(config, {.source_length = 100, .target_length = 100});
//
// token_flops.h and layer/flop_count.h say what is counted. A model does not allocate memory to be described.
// Errors: UsageError for lengths beyond the positions of the model.
#pragma once

#include <string>

#include "qkv/model/token_flops.h"

namespace qkv {

std::string describe(const ModelConfig& config, const DescribeOptions& options = {});

}  // namespace qkv
