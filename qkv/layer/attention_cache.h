// The KV cache of a self-attention layer for incremental decoding.
//
//     AttentionCache cache;
//     Variable y = layer.extend(x, cache, pass);    // x (B,1,C): the next position, or several
//     cache.reorder({0, 0, 2});                     // as KeyValueCache
#pragma once

#include <optional>

#include "qkv/attention/multi_token_cache.h"

namespace qkv {

struct AttentionCache {
  KeyValueCache keys;
  KeyValueCache global_keys;                   // longformer-separate: projected for the global positions
  std::optional<MultiTokenCache> multi_token;  // multi-token attention: instead of `keys`

  int64_t length() const { return multi_token ? multi_token->length() : keys.length(); }
  void reorder(std::span<const int64_t> source) {
    keys.reorder(source);
    global_keys.reorder(source);
    if (multi_token) multi_token->reorder(source);
  }
};

}  // namespace qkv
