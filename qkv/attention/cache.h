// The KV cache: keys and values of the positions so far, for decoding one position at a time.
//
//     KeyValueCache cache;
//     cache.append(k, v);                    // (B,G,1,D) and (B,G,1,E): one more position, or several (prefill)
//     Tensor y = attention(q, cache.keys(), cache.values());
//     cache.reorder({0, 0, 2});              // row b continues row source[b]: beam search
//     cache.truncate(12);                    // the first 12 positions stay
//
//     KeyValueCache small(CacheFormat::int8);  // f32, bf16 or int8 (cache_format.h); none: f32 or bf16 as the first append()
//     Tensor z = attention(q, small);          // reads them as they are stored
//
// Memory grows by a quarter, so append() copies little but the new positions; reorder() copies only rows that change, if these
// are not needed elsewhere and no copy of the cache exists; truncate() gives memory back when it leaves less than some two
// fifths in use.
// Errors: keys and values whose shapes or types do not match the earlier ones; a length beyond the present one.
#pragma once

#include <optional>
#include <span>

#include "qkv/attention/cache_format.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

class KeyValueCache {
 public:
  KeyValueCache() = default;
  explicit KeyValueCache(CacheFormat format) : format_(format) {}
  // That holds these, without memory for more.
  KeyValueCache(CacheFormat format, const Tensor& k, const Tensor& v);

  void append(const Tensor& k, const Tensor& v);
  void reorder(std::span<const int64_t> source);
  void truncate(int64_t length);

  int64_t length() const { return length_; }
  Tensor keys() const;    // (B,G,length,D), a view; a copy in f32 of int8
  Tensor values() const;  // (B,G,length,E), the same
  // Views: f32, bf16, or u8 for int8 rows with their scales behind them (cache_format.h).
  Tensor stored_keys() const;
  Tensor stored_values() const;

 private:
  Tensor stored(const Tensor& x) const;
  void reserve(int64_t length, const Tensor& k, const Tensor& v);
  void set_capacity(int64_t capacity, const Tensor& k, const Tensor& v);

  std::optional<CacheFormat> format_;
  Tensor k_, v_;  // (B,G,capacity,D) and (B,G,capacity,E), or the bytes of int8 rows
  int64_t length_ = 0;
};

// out[b] = x[source[b]] on axis 0.
Tensor gather_rows(const Tensor& x, std::span<const int64_t> source);

}  // namespace qkv
