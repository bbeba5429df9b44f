// The KV cache: keys and values of the positions so far, for decoding one position at a time.
//
//     KeyValueCache cache;
//     cache.append(k, v);                    // (B,G,1,D) and (B,G,1,E): one more position, or several (prefill)
//     Tensor y = attention(q, cache.keys(), cache.values());
//     cache.reorder({0, 0, 2});              // row b continues row source[b]: beam search
//
// f32 or bf16, as the first append(). Memory grows by doubling, so append() copies little but the new positions; reorder()
// copies only rows that change, if these are not needed elsewhere and no copy of the cache exists.
// Errors: keys and values whose shapes or types do not match the earlier ones.
#pragma once

#include <span>

#include "qkv/tensor/tensor.h"

namespace qkv {

class KeyValueCache {
 public:
  void append(const Tensor& k, const Tensor& v);
  void reorder(std::span<const int64_t> source);

  int64_t length() const { return length_; }
  Tensor keys() const;    // (B,G,length,D), a view
  Tensor values() const;  // (B,G,length,E), a view

 private:
  void reserve(int64_t length, const Tensor& k, const Tensor& v);

  Tensor k_, v_;  // (B,G,capacity,D) and (B,G,capacity,E)
  int64_t length_ = 0;
};

// out[b] = x[source[b]] on axis 0.
Tensor gather_rows(const Tensor& x, std::span<const int64_t> source);

}  // namespace qkv
