// Multi-token attention one position at a time: keys and values of the positions so far, and the last few queries,
// which the convolutions reach back to.
//
//     MultiTokenCache cache(options);
//     Tensor y = cache.attend(q, k, v);     // of one more position, or of several
//     cache.reorder({0, 0, 2});             // as KeyValueCache
//
// What comes out has the same bits as one call over all positions, with a mask that is the same for a query
// wherever its call begins: causal(), window(), and what else stands on positions counted from the last key. Of the
// queries only c_q - 1 for each convolution are kept, whatever the length.
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
  Tensor queries_;  // (B,H,history,D) at most
};

}  // namespace qkv
