// What a layer of self-attention keeps of the positions so far, to produce a sequence one position at a time.
//
//     AttentionCache cache;
//     Variable y = layer.step(x, cache, pass);      // of one more position
//     cache.reorder({0, 0, 2});                     // as KeyValueCache
#pragma once

#include <optional>

#include "qkv/attention/multi_token_cache.h"

namespace qkv {

struct AttentionCache {
  KeyValueCache keys;
  KeyValueCache global_keys;                   // longformer-separate: as its global positions see them
  std::optional<MultiTokenCache> multi_token;  // instead of keys

  int64_t length() const { return multi_token ? multi_token->length() : keys.length(); }
  void reorder(std::span<const int64_t> source) {
    keys.reorder(source);
    global_keys.reorder(source);
    if (multi_token) multi_token->reorder(source);
  }
};

}  // namespace qkv
