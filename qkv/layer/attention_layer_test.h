// A small layer of any variant, for tests of mechanisms.
#pragma once

#include "qkv/layer/layer_test.h"
#include "qkv/layer/multi_head_attention.h"

namespace qkv::test {

inline MultiHeadAttentionOptions options_of(const AttentionVariant& variant, AttentionUse use,
                                            int64_t kv_heads = 2) {
  return {.d_model = 16, .heads = 4, .kv_heads = kv_heads, .variant = variant, .use = use};
}

// Initialised, plus a little noise, so that no parameter is zero.
inline MultiHeadAttention layer_of(const MultiHeadAttentionOptions& options) {
  MultiHeadAttention layer(options);
  layer.initialise("layer", 1);
  uint64_t seed = 50;
  layer.visit("", [&](const std::string&, Variable& p) {
    const Tensor noise = random_tensor(p.shape(), ++seed, 0.1);
    for (int64_t i = 0; i < noise.numel(); ++i) p.mutable_value().data<float>()[i] += noise.data<float>()[i];
  });
  return layer;
}

}  // namespace qkv::test
