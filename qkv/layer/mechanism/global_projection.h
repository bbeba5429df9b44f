// longformer-separate in a layer: projections of their own for the queries of the global positions, and for the
// keys and values that these queries attend to (Beltagy et al., 2020, section 3.1).
//
//     Variable k = project_global(part, GlobalProjection::key, source);
//     attention(q, k, v, {.mask = mask & !global_rows(part, {.B = B, .T = T, .S = S}, 0)})    // the other queries
#pragma once

#include "qkv/layer/attention_part.h"

namespace qkv {

enum class GlobalProjection { query, key, value };
Variable project_global(const AttentionPart& part, GlobalProjection which, const Variable& source);  // (B,T,width)

// The number of global positions, which are the first ones.
int64_t global_positions(const AttentionPart& part);
// All keys are visible to the queries of global positions, none to the others. Query 0 has position `first`.
MaskPtr global_rows(const AttentionPart& part, const AttentionShape& shape, int64_t first);

}  // namespace qkv
