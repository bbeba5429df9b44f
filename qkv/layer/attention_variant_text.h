// The text form of an attention variant, for command lines, files and Python: mechanisms joined by '+', the arguments
// of a mechanism after '=' and joined by ':', by position or by name, lists of numbers joined by '/'.
//
//     AttentionVariant variant = attention_variant("window=64+softcap=30");    // SlidingWindow{64} + Softcap{30}
//     to_string(variant)                                                       // "window=64+softcap=30"
//     attention_variant("rotary=500000:scaling=linear:factor=4")
//                                   // Rotary{.base = 5e5, .scaling = {.type = RotaryScalingType::linear, .factor = 4}}
//     attention_variant("widnow=64")  // throws: attention variant: unknown mechanism 'widnow', must be one of ...
//     attention_variant("documents")  // throws: attention variant: 'documents' is not part of a variant: ...
#pragma once

#include "qkv/layer/attention_variant.h"

namespace qkv {

// UsageError, beginning with `where`: "qkv train: --cross-attention".
AttentionVariant attention_variant(std::string_view text, std::string_view where = "attention variant");
std::string to_string(const AttentionVariant& variant);

// A table of the mechanisms for the command's help, at most 100 columns wide.
std::string attention_mechanisms_help();

}  // namespace qkv
