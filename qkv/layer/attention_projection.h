// The projections of multi-head attention: from the sources to the heads of queries, keys and values, which are
// normalized and rotated if the layer does that.
//
//     const Projected p = projection.self(x);                             // x (B,T,C) or (N,C); one product or three
//     const Variable q = projection.query_heads(p, B, T, position);       // (B,H,T,D)
//     const Variable k = projection.key_heads(p.k, position);             // (B,G,S,D)
//
// A variant that does not read queries or keys (location, constant) has no projection of them.
// Parameters: query, key, value: Linear each; fused_qkv: query_key_value, the rows of the three one after the other;
// query_norm, key_norm (D).
#pragma once

#include "qkv/layer/linear.h"
#include "qkv/layer/mechanism/optional.h"
#include "qkv/layer/multi_head_attention_options.h"
#include "qkv/layer/sequence_part.h"

namespace qkv {

// Not split into heads yet: q (B,T,H D), k and v (B,S,G D). What is not read is not defined.
struct Projected {
  Variable q, k, v;
  Projected slice(int64_t begin, int64_t rows, int64_t length) const;  // of x (N,C), as (rows,length,width)
};
// The same of the source of the projections.
Variable slice_rows(const Variable& x, int64_t begin, int64_t rows, int64_t length);

class AttentionProjection {
 public:
  explicit AttentionProjection(const MultiHeadAttentionOptions& completed_options);
  const MultiHeadAttentionOptions& options() const { return options_; }

  Projected self(const Variable& x) const;
  Projected queries(const Variable& source) const;
  Projected keys_values(const Variable& key_source, const Variable& value_source) const;

  // A part has some of the rows of the sequence that begins at first_position.
  Variable query_heads(const Variable& projected, int64_t first_position, const SequencePart& part = {}) const;
  Variable key_heads(const Variable& projected, int64_t first_position, const SequencePart& part = {}) const;
  Variable value_heads(const Variable& projected) const;
  // Of the right shape even where queries are not read. Where keys are not read, the values are passed in their place:
  // they have the same shape.
  Variable query_heads(const Projected& p, int64_t rows, int64_t length, int64_t first_position,
                       const SequencePart& part = {}) const;
  std::pair<Variable, Variable> key_value_heads(const Projected& p, int64_t first_position,
                                                const SequencePart& part = {}) const;

  void list_linear(ModuleContents& contents) const;
  void list_norms(ModuleContents& contents) const;

  Linear query, key, value, query_key_value;
  std::optional<Norm> query_norm, key_norm;

 private:
  Variable rotated(Variable heads, int64_t first_position, const SequencePart& part) const;

  MultiHeadAttentionOptions options_;
  bool reads_queries_, reads_keys_;
  std::vector<const RotatesHeads*> rotations_;  // of the variant in options_
};

}  // namespace qkv
