// Buckets of relative positions (Raffel et al., "Exploring the Limits of Transfer Learning with a Unified
// Text-to-Text Transformer", 2020, section 2.1): one bucket per small distance, logarithmic steps for larger ones.
//
//     r = j - p_i                                             distance of a key from the query's position
//     bidirectional:  N = num_buckets / 2, n = |r|, and keys after the query (r > 0) have the buckets from N on
//     else:           N = num_buckets,     n = max(-r, 0)
//     bucket = n                                                            for n < m,  m = N / 2
//            = min(N - 1, m + floor(log(n/m) / log(max_distance/m) (N - m)))   else
//
//     int64_t bucket = relative_bucket(j - p, {.bidirectional = false});
//
// Errors: num_buckets below 2 (bidirectional: 4); a max_distance that is not above m.
#pragma once

#include <cstdint>

namespace qkv {

struct RelativeBuckets {
  bool bidirectional = true;
  int64_t num_buckets = 32;
  int64_t max_distance = 128;
};
int64_t relative_bucket(int64_t distance, const RelativeBuckets& options = {});

}  // namespace qkv
