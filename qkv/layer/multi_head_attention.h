// Multi-head attention (Vaswani et al., 2017, section 3.2.2) of any variant (attention_variant.h): grouped-query
// attention (Ainslie et al., 2023) with kv_heads < heads, multi-query attention (Shazeer, 2019) with kv_heads = 1.
//
//     head_h = attention(x_q Wq_h, x_k Wk_g, x_v Wv_g),  g = h * kv_heads / heads
//     head_h = attention(norm(x_q Wq_h), norm(x_k Wk_g), x_v Wv_g)          with query_key_norm (Henry et al., 2020)
//     y      = join(head_1, ..., head_H) Wo
//
//     MultiHeadAttention self({.d_model = 512, .heads = 8, .variant = SlidingWindow{64}});
//     Variable y = self.forward(x, causal(), pass);                    // self-attention
//     Variable z = cross.attend(x, cross.project(memory, memory, lengths), padding(lengths), pass);
//     Variable w = self.extend(x, cache, pass);                        // x (B,1,C): the next position, or several
//
// Shapes: query (B,T,query_width), key (B,S,key_width), value (B,S,value_width), y (B,T,C); lengths (B) i32, of the
// keys. The widths of the sources and of the heads are free: they are C and C / H unless given.
// Parameters: those of the projections (attention_projection.h); out: Linear; those of the variant (attention_core.h).
// multi_head_attention_extend.cc is the decoding.
#pragma once

#include <span>

#include "qkv/layer/attention_core.h"
#include "qkv/layer/attention_projection.h"
#include "qkv/layer/multi_head_attention_options.h"

namespace qkv {

class MultiHeadAttention final : public Module {
 public:
  // Projected keys and values, (B,G,S,D) each.
  struct KeyValues {
    Variable k, v;
    Tensor lengths = {};  // none: S each

    // For decoding: k and v become views of what it holds, which only the functions here read.
    void hold_as(CacheFormat format);
    void reorder(std::span<const int64_t> rows);  // of what is held
    std::optional<KeyValueCache> stored = {};
  };

  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options);
  // Uses the parameters of an earlier layer, for mechanisms that share them in a stack. Call it before the first pass.
  void share_parameters_of(const MultiHeadAttention& earlier);

  Variable forward(const Variable& x, const MaskPtr& mask, Pass& pass) const;  // self-attention
  Variable forward(const Variable& query_source, const Variable& key_source, const Variable& value_source,
                   const MaskPtr& mask, Pass& pass) const;
  KeyValues project(const Variable& key_source, const Variable& value_source, const Tensor& lengths = {}) const;
  Variable attend(const Variable& query_source, const KeyValues& memory, const MaskPtr& mask, Pass& pass) const;

  // Decoding. x (N,C) holds the new positions of several segments, one segment after the other: the rows of a segment
  // are at the same position, and `length` new ones of the first row are followed by those of the second. Linear layers
  // are applied to all segments at once. The result of a row does not depend on the others.
  struct SelfSegment {
    int64_t rows = 0, length = 1;
    AttentionCache* cache = nullptr;  // of the rows
  };
  // Causal self-attention to the cached positions and to the new ones, which join the cache.
  Variable extend(const Variable& x, std::span<const SelfSegment> segments, Pass& pass) const;
  Variable extend(const Variable& x, AttentionCache& cache, Pass& pass) const;  // one segment: x (B,T,C)

  struct CrossSegment {
    int64_t rows = 0, length = 1;  // rows: a multiple of those of the memory, adjacent rows share one
    const KeyValues* memory = nullptr;
    MaskPtr mask = {};
    int64_t position = 0;  // of the first new position
  };
  Variable extend(const Variable& x, std::span<const CrossSegment> segments, Pass& pass) const;

  void list(ModuleContents& contents) const override;

  AttentionProjection projection;
  Linear out;

 private:
  // Heads (B,H,T,D) of all heads to y (B,T,C).
  Precision products() const;  // of training
  Variable joined(const Variable& heads) const;
  void check_memory_fits() const;

  AttentionCore core_;
};

}  // namespace qkv
