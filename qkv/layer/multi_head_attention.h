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
// Parameters: query, key, value, out: Linear each; packed: query_key_value, the rows of the three one after the
// other, and out; query_norm, key_norm (D). Variants that do not read queries or keys (location, constant) have no such
// projection. Then come the parameters of the variant, named as in attention_part.h.
#pragma once

#include <memory>
#include <utility>

#include "qkv/attention/attention.h"
#include "qkv/base/on_demand.h"
#include "qkv/layer/attention_cache.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/linear.h"
#include "qkv/layer/norm.h"
#include "qkv/layer/pass.h"

namespace qkv {

// Which projections have a bias: all, none, or each by choice.
//
//     MultiHeadAttention layer({.d_model = 512, .heads = 8, .bias = {.query = true, .key = true, .value = true, .out = false}});
struct ProjectionBias {
  bool query = true, key = true, value = true, out = true;
};
inline constexpr ProjectionBias no_projection_bias = {.query = false, .key = false, .value = false, .out = false};

struct MultiHeadAttentionOptions {
  int64_t d_model = 0;      // C, width of the output
  int64_t heads = 1;        // H
  int64_t kv_heads = 0;     // G, divides H; 0: H
  int64_t head_width = 0;   // D; 0: C / H, and H must divide C
  int64_t query_width = 0;  // of the source of the queries; 0: C
  int64_t key_width = 0;    // of the source of the keys; 0: C
  int64_t value_width = 0;  // of the source of the values; 0: C
  ProjectionBias bias = {};
  std::optional<NormOptions> query_key_norm = {};  // normalize the queries and keys of every head, before rotary
  bool packed = false;                             // one Linear for queries, keys and values; self-attention only
  AttentionVariant variant = {};
  AttentionUse use = AttentionUse::encoder;
  float dropout = 0.0f;  // of attention weights
  int64_t layer = 0;     // its index in the attention log

  AttentionSize size() const;
};

class MultiHeadAttention final : public Module {
 public:
  // Projected keys and values, (B,G,S,D) each.
  struct KeyValues {
    Variable k, v;
    Variable global_k = {}, global_v = {};  // longformer-separate: for queries of global positions
    Tensor lengths = {};                    // none: S each
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

  Linear query, key, value, out, query_key_value;
  std::optional<Norm> query_norm, key_norm;

 private:
  struct Queries {
    Variable q, global_q;  // (B,H,T,D)
  };
  struct Call {
    MaskPtr mask = {};
    int64_t first_position = 0;  // of query 0
    bool same_position = false;  // all queries have the position of query 0
    bool single_queries = false;
  };
  Variable rotated(const Variable& heads, int64_t first_position) const;
  Variable query_heads(const Variable& projected, int64_t first_position) const;  // (B,T,H D) -> (B,H,T,D)
  Variable key_heads(const Variable& projected, int64_t first_position) const;    // (B,S,G D) -> (B,G,S,D)
  Variable unread_queries(int64_t rows, int64_t length) const;
  // Projections (B,T,width) and (B,S,width) that are not split into heads yet; those that are not read are not defined.
  struct Projections {
    Variable q, k, v, global_q = {}, global_k = {}, global_v = {};
    Projections slice(int64_t begin, int64_t rows, int64_t length) const;  // of x (N,C), as (rows,length,width)
  };
  void project_queries(const Variable& source, bool global, Projections& to) const;
  void project_keys_values(const Variable& key_source, const Variable& value_source, bool global,
                           Projections& to) const;
  Projections project_self(const Variable& x, bool global) const;
  Queries queries_of(const Projections& projections, int64_t rows, int64_t length, int64_t first_position) const;
  KeyValues keys_values_of(const Projections& projections, int64_t first_position) const;
  bool has_global_positions(int64_t first_position, const Tensor& global_tokens) const;

  // (B,H,T,D) and its weights in the log.
  Variable attend_logged(const Queries& queries, const KeyValues& memory, const Call& call, Pass& pass) const;
  Variable extend_one(const Queries& queries, const KeyValues& memory, AttentionCache& cache, Pass& pass) const;
  AttentionVariableResult attend_heads(const Queries& queries, const KeyValues& memory, const Call& call,
                                       Pass& pass) const;
  AttentionLog* log_of(const Pass& pass) const;
  const AttentionPart* global_part() const;     // null: no projections of global positions
  const AttentionPart* replacing_part() const;  // null: attention() is called

  MultiHeadAttentionOptions options_;
  std::vector<AttentionPart> parts_;
  // Of every call. Made for the first one, because it needs memory for the parameters of the variant.
  const AttentionOptions& call_options() const;
  std::shared_ptr<OnDemand<AttentionOptions>> call_options_ = std::make_shared<OnDemand<AttentionOptions>>();
};

}  // namespace qkv
