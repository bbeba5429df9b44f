// The number of edits between two sentences of numbered words, moves included: the core of TER.
//
//     int64_t n = edits(U"bca", U"abc");        // 1: a word moves to the front
//
// Follows Tercom (Snover et al., 2006) as sacreBLEU does, with its limits: moves of at most 10 words over at most
// 50 positions, at most 1,000 of them tried, and an edit distance limited to a band around the diagonal.
#pragma once

#include <cstdint>
#include <string_view>

namespace qkv::metric {

int64_t edits(std::u32string_view hypothesis, std::u32string_view reference);

}  // namespace qkv::metric
