// Multi-head attention (Vaswani et al., 2017, section 3.2.2), with grouped key/value heads (Ainslie et al., 2023)
// when kv_heads < heads, and multi-query attention (Shazeer, 2019) when kv_heads = 1; of any variant
// (attention_variant.h).
//
//     head_h = attention(x_q Wq_h, x_k Wk_g, x_v Wv_g),  g = h * kv_heads / heads
//     y      = join(head_1, ..., head_H) Wo
//
//     MultiHeadAttention self({.width = 512, .heads = 8, .variant = attention_variant("window=64+sink")});
//     Variable y = self.forward(x, causal(), pass);                    // self-attention
//     Variable z = cross.attend(x, cross.project(memory, memory, lengths), padding(lengths), pass);
//
// Shapes: query (B,T,C), key (B,S,key_width), value (B,S,value_width), y (B,T,C); lengths (B) i32, of the keys.
// Parameters: query, key, value, out: Linear each, biases if asked for; packed: query_key_value, its rows one after
// the other, and out. Behind them those of the variant, as attention_part.h names them.
#pragma once

#include <utility>

#include "qkv/attention/attention.h"
#include "qkv/layer/attention_cache.h"
#include "qkv/layer/attention_part.h"
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
  bool packed = false;  // one Linear for queries, keys and values; self-attention only
  AttentionVariant variant = {};
  AttentionUse use = AttentionUse::encoder;
  float dropout = 0.0f;   // on the weights
  std::string name = {};  // in the attention log

  AttentionSize size() const;
};

class MultiHeadAttention {
 public:
  // Keys and values cut into heads, (B,G,S,D) each.
  struct KeyValues {
    Variable k, v;
    Variable global_k = {}, global_v = {};  // as global positions see them, in longformer-separate
    Tensor lengths = {};                    // none: S each
  };

  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options);

  Variable forward(const Variable& x, const MaskPtr& mask, Pass& pass) const;  // self-attention
  Variable forward(const Variable& query_source, const Variable& key_source, const Variable& value_source,
                   const MaskPtr& mask, Pass& pass) const;
  KeyValues project(const Variable& key_source, const Variable& value_source, const Tensor& lengths = {}) const;
  Variable attend(const Variable& query_source, const KeyValues& memory, const MaskPtr& mask, Pass& pass) const;
  // The same in a step of decoding: all queries stand at `position`, and every one is by itself, whoever else looks
  // at the memory.
  Variable cross_attend_step(const Variable& query_source, const KeyValues& memory, const MaskPtr& mask,
                             int64_t position, Pass& pass) const;
  // One more position of self-attention: x (B,1,C) sees what the cache holds and itself.
  Variable step(const Variable& x, AttentionCache& cache, Pass& pass) const;

  void visit(const std::string& prefix, const ParameterVisitor& visitor);
  void initialise(const std::string& prefix, uint64_t seed);

  Linear query, key, value, out, query_key_value;

 private:
  struct Queries {
    Variable q, global_q;  // (B,H,T,D)
  };
  struct Call {
    MaskPtr mask = {};
    int64_t first = 0;      // where query 0 stands
    bool at_first = false;  // and all others with it
    bool single = false;
  };
  Variable turned(const Variable& heads, int64_t first) const;
  Queries queries_of(const Variable& source, int64_t first) const;
  KeyValues key_values_of(const Variable& key_source, const Variable& value_source, int64_t first) const;
  std::pair<Queries, KeyValues> of_self(const Variable& x, int64_t first) const;

  Variable finish(const Queries& queries, const KeyValues& memory, const Call& call, Pass& pass) const;
  AttentionVariableResult by_words(const Queries& queries, const KeyValues& memory, const Call& call,
                                   Pass& pass) const;
  AttentionVariableResult multi_token_forward(const Variable& q, const KeyValues& memory, const MaskPtr& mask,
                                              Pass& pass) const;
  const AttentionPart* part_of(AttentionMechanism::Role role) const;

  MultiHeadAttentionOptions options_;
  std::vector<AttentionPart> parts_;
  AttentionOptions sentence_;  // what the parts say, whatever the call
};

}  // namespace qkv
