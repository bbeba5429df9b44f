// What longformer-separate adds to a layer: projections for the queries of its global positions, and for the keys
// and values that these meet.
//
//     Variable k = project_global(part, GlobalProjection::key, source);
//     attention(q, k, v, {.mask = mask & !global_rows(part, {.B = B, .T = T, .S = S})})      // all other queries
#pragma once

#include "qkv/layer/attention_part.h"

namespace qkv {

enum class GlobalProjection { query, key, value };
Variable project_global(const AttentionPart& part, GlobalProjection which, const Variable& source);  // (B,T,width)

// How many positions are global: the first ones.
int64_t global_positions(const AttentionPart& part);
// Shows all keys to queries of global positions, and nothing to others. Query 0 stands at `first`.
MaskPtr global_rows(const AttentionPart& part, const AttentionShape& shape, int64_t first);

}  // namespace qkv
