// Answers that differ from one position on: each of the n most likely next tokens is continued by a search of its own.
//
//     SearchTask task = ...;                                                    // prompts, or prefixes of translations
//     auto found = search_alternatives(task, {.beam = 4, .n_best = 3});         // found[b]: 3 answers, best first
//
// No two answers to a sequence have the same first token, and none is empty unless the sequence has no position left.
// The searches are independent: an answer is the best one that begins with its token. Scores are of whole answers,
// including the first token.
#pragma once

#include <vector>

#include "qkv/decode/search.h"

namespace qkv {

std::vector<std::vector<Hypothesis>> search_alternatives(const SearchTask& task, const SearchOptions& options);

}  // namespace qkv
