// The rows of the table of words, group by group: each group has a file of its own.
#pragma once

#include "qkv/layer/word/word.h"

namespace qkv {

using AttentionWords = std::vector<AttentionWord>;

AttentionWords mask_words();         // window, dilated, strided, longformer, bigbird
AttentionWord longformer_word();     // one of them
AttentionWords score_words();        // bilinear, additive, cosine, distance, gaussian, location
AttentionWords kernel_words();       // boxcar, epanechnikov, triangular
AttentionWords modify_words();       // softcap
AttentionWords normalize_words();    // sink
AttentionWords place_words();        // local-m, local-p
AttentionWords position_words();     // rotary, alibi, t5
AttentionWords projection_words();   // longformer-separate
AttentionWords multi_token_words();  // multi-token

// How parameters begin.
void start_with_ones(Variable& parameter, uint64_t seed, const std::string& name);
void start_as_score(Variable& parameter, uint64_t seed, const std::string& name);  // (F): normal, 1/sqrt(F)

inline int64_t whole(const AttentionWord::Numbers& numbers, size_t i) { return static_cast<int64_t>(numbers[i]); }

inline constexpr double most_positions = 1 << 24;

}  // namespace qkv
