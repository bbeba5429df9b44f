// Multi-token attention one position at a time: a KV cache, and the last queries, which the convolutions read.
//
//     MultiTokenCache cache(options);
//     Tensor y = cache.attend(q, k, v);     // of one more position, or of several
//     cache.reorder({0, 0, 2});             // as KeyValueCache
//
// f32 or bf16. The results have the bits of one call over all positions, for masks that depend on positions counted
// from the last key: causal(), window(). The last c_q - 1 queries per convolution are kept, whatever the length.
// Errors: q, k and v whose shapes or types do not match the earlier ones.
#pragma once

#include "qkv/attention/cache.h"
#include "qkv/attention/multi_token.h"

namespace qkv {

class MultiTokenCache {
 public:
  explicit MultiTokenCache(MultiTokenOptions options);

  // q (B,H,t,D), k (B,G,t,D), v (B,G,t,E): the next t positions. Returns (B,H,t,E).
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v);
  void reorder(std::span<const int64_t> source);

  int64_t length() const { return cache_.length(); }

 private:
  MultiTokenOptions options_;
  KeyValueCache cache_;
  Tensor queries_;  // (B,H,t,D), t <= history_of(options_)
};

}  // namespace qkv
