// Relative position bias: a learned number for every head and bucket of distances (Raffel et al., "Exploring the
// Limits of Transfer Learning with a Unified Text-to-Text Transformer", 2020, section 2.1; buckets in
// relative_buckets.h).
//
//     s_ij <- s_ij + table[bucket(j - p_i), h]          p_i = i + S - T;  table (num_buckets, H)
//
//     Variable y = attention(q, k, v, {.score = dot(), .modify = {relative_bias(table, {.num_buckets = 32})}});
//
// Errors: a table with another number of buckets or heads; buckets that relative_bucket() rejects.
#pragma once

#include "qkv/attention/modify/modifier.h"
#include "qkv/attention/modify/relative_buckets.h"

namespace qkv {

ModifierPtr relative_bias(const Variable& table, const RelativeBuckets& buckets = {});

}  // namespace qkv
