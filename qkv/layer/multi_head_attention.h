// Multi-head attention (Vaswani et al., 2017, section 3.2.2), with grouped key/value heads (Ainslie et al., 2023)
// when kv_heads < heads, and multi-query attention (Shazeer, 2019) when kv_heads = 1.
//
//     head_h = attention(x_q Wq_h, x_k Wk_g, x_v Wv_g),  g = h * kv_heads / heads
//     y      = join(head_1, ..., head_H) Wo
//
//     MultiHeadAttention self({.width = 512, .heads = 8});
//     Variable y = self.forward(x, x, x, causal(), pass);              // self-attention
//     Variable z = cross.attend(x, cross.project(memory, memory), padding(lengths), pass);
//
// Shapes: query (B,T,C), key (B,S,key_width), value (B,S,value_width), y (B,T,C).
// Parameters: query, key, value, out: Linear each, biases if asked for.
#pragma once

#include "qkv/attention/attention.h"
#include "qkv/attention/cache.h"
#include "qkv/layer/linear.h"
#include "qkv/layer/pass.h"

namespace qkv {

struct MultiHeadAttentionOptions {
  int64_t width = 0;        // C, of queries and outputs
  int64_t heads = 1;        // divides C
  int64_t kv_heads = 0;     // 0: as many as heads; else divides heads
  int64_t key_width = 0;    // of the keys' source; 0: C
  int64_t value_width = 0;  // of the values' source; 0: C
  bool bias = true;
  float dropout = 0.0f;   // on the weights
  std::string name = {};  // in the attention log
};

class MultiHeadAttention {
 public:
  // Keys and values cut into heads, (B,G,S,D) each.
  struct KeyValues {
    Variable k, v;
  };

  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options);

  Variable forward(const Variable& query_source, const Variable& key_source, const Variable& value_source,
                   const MaskPtr& mask, Pass& pass) const;
  KeyValues project(const Variable& key_source, const Variable& value_source) const;
  Variable attend(const Variable& query_source, const KeyValues& memory, const MaskPtr& mask, Pass& pass) const;
  // The same in a step of decoding: every query by itself, whoever else looks at the memory.
  Variable attend_singly(const Variable& query_source, const KeyValues& memory, const MaskPtr& mask,
                         Pass& pass) const;
  // One more position of self-attention: x (B,1,C) sees what the cache holds and itself.
  Variable step(const Variable& x, KeyValueCache& cache, Pass& pass) const;

  void visit(const std::string& prefix, const ParameterVisitor& visitor);
  void initialise(const std::string& prefix, uint64_t seed);

  Linear query, key, value, out;

 private:
  Variable attend(const Variable& query_source, const KeyValues& memory, AttentionOptions options,
                  Pass& pass) const;

  MultiHeadAttentionOptions options_;
};

}  // namespace qkv
