// The rows of the table of mechanisms, group by group; each group has a file of its own.
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

using AttentionMechanisms = std::vector<AttentionMechanism>;

AttentionMechanisms mask_mechanisms();          // window, dilated, strided, longformer, bigbird, prefix
AttentionMechanism longformer_mechanism();      // one of them
AttentionMechanisms score_mechanisms();         // dot, bilinear, additive, cosine, distance, gaussian, location
AttentionMechanisms kernel_mechanisms();        // boxcar, epanechnikov, triangular, constant
AttentionMechanisms modify_mechanisms();        // softcap
AttentionMechanisms normalize_mechanisms();     // softmax-with-sink
AttentionMechanisms local_window_mechanisms();  // local-m, local-p
AttentionMechanisms position_mechanisms();      // rotary, alibi, relative-bias
AttentionMechanisms global_projection_mechanisms();  // longformer-separate
AttentionMechanisms multi_token_mechanisms();        // multi-token

// A learned vector that scores have a dot product with, normal with deviation 1 / sqrt(width).
Parameter score_vector(const Axis& width);

inline int64_t integer(const AttentionMechanism::Numbers& numbers, size_t i) {
  return static_cast<int64_t>(numbers[i]);
}

inline constexpr double max_distance = 1 << 24;

}  // namespace qkv
