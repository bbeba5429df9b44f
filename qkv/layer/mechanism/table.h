// The rows of the table of words, group by group: each group has a file of its own.
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

using AttentionMechanisms = std::vector<AttentionMechanism>;

AttentionMechanisms mask_mechanisms();         // window, dilated, strided, longformer, bigbird
AttentionMechanism longformer_mechanism();     // one of them
AttentionMechanisms score_mechanisms();        // bilinear, additive, cosine, distance, gaussian, location
AttentionMechanisms kernel_mechanisms();       // boxcar, epanechnikov, triangular
AttentionMechanisms modify_mechanisms();       // softcap
AttentionMechanisms normalize_mechanisms();    // sink
AttentionMechanisms place_mechanisms();        // local-m, local-p
AttentionMechanisms position_mechanisms();     // rotary, alibi, t5
AttentionMechanisms projection_mechanisms();   // longformer-separate
AttentionMechanisms multi_token_mechanisms();  // multi-token

// How parameters begin.
void start_with_ones(Variable& parameter, uint64_t seed, const std::string& name);
void start_as_score(Variable& parameter, uint64_t seed, const std::string& name);  // (F): normal, 1/sqrt(F)

inline int64_t whole(const AttentionMechanism::Numbers& numbers, size_t i) {
  return static_cast<int64_t>(numbers[i]);
}

inline constexpr double max_positions = 1 << 24;

}  // namespace qkv
