// What a configuration must fulfil besides the ranges of its fields, which are in architecture_table.h.
//
//     check_tie(Tie::all, 8000, 9000)   // throws: model: tie all needs one vocabulary, got 8000 source and 9000 target tokens
#pragma once

#include "qkv/model/architecture.h"

namespace qkv {

// UsageError for two vocabularies that were to share an embedding.
void check_tie(Tie tie, int64_t source_vocabulary, int64_t target_vocabulary);

}  // namespace qkv
