// The strengths of the patterns of every head (head_patterns.h) as text and as JSON.
//
//     head_table(inspection.attention)
//         head               kind       previous  current  next  distance   first  separator
//         encoder.0.self.0   previous       0.91     0.03  0.01  0.02 (-2)   0.05       0.04
//
//     head_json(inspection.attention)        // [{"head": "encoder.0.self.0", "kind": "previous", "previous": 0.91, ...}, ...]
//
// Patterns that no head can have (of cross-attention, or without a token that occurs twice) are left out.
#pragma once

#include <span>
#include <string>

#include "qkv/interpret/head_patterns.h"

namespace qkv {

class Json;

std::string head_table(std::span<const AttentionMaps> attention);
Json head_json(std::span<const AttentionMaps> attention);

}  // namespace qkv
