// The number of edits between two sentences of numbered words, moves included: the inside of TER.
//
//     int64_t n = edits(U"bca", U"abc");        // 1: a word moves to the front
//
// Follows Tercom (Snover et al., 2006) as sacreBLEU does, with its limits: moves of at most 10 words by at most 50
// places, at most 1,000 of them tried, and an edit distance that stays near the diagonal.
#pragma once

#include <cstdint>
#include <string_view>

namespace qkv::metric {

int64_t edits(std::u32string_view hypothesis, std::u32string_view reference);

}  // namespace qkv::metric
