#include "qkv/layer/attention_projection.h"

#include "qkv/base/error.h"
#include "qkv/op/shape.h"

namespace qkv {

Variable slice_rows(const Variable& x, int64_t begin, int64_t rows, int64_t length) {
  const bool whole = rows * length == x.dim(0);
  return reshape(whole ? x : slice(x, 0, begin, begin + rows * length), {rows, length, x.dim(1)});
}

Projected Projected::slice(int64_t begin, int64_t rows, int64_t length) const {
  const auto part = [&](const Variable& x) { return x.defined() ? slice_rows(x, begin, rows, length) : x; };
  return {part(q), part(k), part(v)};
}

AttentionProjection::AttentionProjection(const MultiHeadAttentionOptions& o)
    : query(0, 0),
      key(0, 0),
      value(0, 0),
      query_key_value(0, 0),
      options_(o),
      reads_queries_(o.variant.reads_queries()),
      reads_keys_(o.variant.reads_keys()) {
  const Axis C(o.d_model, "C"), D(o.head_width, "D");
  const auto width = [&](int64_t size, const char* letter = "") { return size == C.size ? C : Axis(size, letter); };
  const Axis Q = width(o.heads * o.head_width, "Q"), K = width(o.kv_heads * o.head_width, "K");
  if (o.fused_qkv) {
    const int64_t rows = (reads_queries_ ? Q.size : 0) + (reads_keys_ ? K.size : 0) + K.size;
    query_key_value = Linear(width(o.query_width), rows, o.bias.query);
  } else {
    if (reads_queries_) query = Linear(width(o.query_width), Q, o.bias.query);
    if (reads_keys_) key = Linear(width(o.key_width), K, o.bias.key);
    value = Linear(width(o.value_width), K, o.bias.value);
  }
  if (o.query_key_norm && reads_queries_) query_norm.emplace(D, *o.query_key_norm);
  if (o.query_key_norm && reads_keys_) key_norm.emplace(D, *o.query_key_norm);
  for (const AttentionMechanismPtr& mechanism : options_.variant.mechanisms())
    if (const auto* rotates = dynamic_cast<const RotatesHeads*>(mechanism.get())) rotations_.push_back(rotates);
}

// ---- Sources to projections ----

Projected AttentionProjection::queries(const Variable& source) const {
  return {reads_queries_ ? query.forward(source) : Variable(), {}, {}};
}

Projected AttentionProjection::keys_values(const Variable& key_source, const Variable& value_source) const {
  if (key_source == value_source) {
    const auto [k, v] = forward_all<2>(key_source, {reads_keys_ ? &key : nullptr, &value});
    return {{}, k, v};
  }
  return {{}, reads_keys_ ? key.forward(key_source) : Variable(), value.forward(value_source)};
}

Projected AttentionProjection::self(const Variable& x) const {
  if (!options_.fused_qkv) {
    const auto [q, k, v] =
        forward_all<3>(x, {reads_queries_ ? &query : nullptr, reads_keys_ ? &key : nullptr, &value});
    return {q, k, v};
  }
  const Variable all = query_key_value.forward(x);
  const int axis = static_cast<int>(all.value().rank()) - 1;
  int64_t begin = 0;  // of the next projection
  const auto next = [&](int64_t heads) {
    begin += heads * options_.head_width;
    return slice(all, axis, begin - heads * options_.head_width, begin);
  };
  Projected p;
  if (reads_queries_) p.q = next(options_.heads);
  if (reads_keys_) p.k = next(options_.kv_heads);
  p.v = next(options_.kv_heads);
  return p;
}

// ---- Projections to heads ----

Variable AttentionProjection::rotated(Variable heads, int64_t first_position, const SequencePart& part) const {
  if (rotations_.empty()) return heads;
  return part.by_runs(heads, /*axis=*/2, [&](const Variable& run, int64_t position) {
    Variable turned = run;
    for (const RotatesHeads* rotation : rotations_) turned = rotation->rotate(turned, first_position + position);
    return turned;
  });
}

Variable AttentionProjection::query_heads(const Variable& projected, int64_t first_position,
                                          const SequencePart& part) const {
  Variable heads = split_heads(projected, options_.heads);
  return rotated(query_norm ? query_norm->forward(heads) : std::move(heads), first_position, part);
}

Variable AttentionProjection::key_heads(const Variable& projected, int64_t first_position,
                                        const SequencePart& part) const {
  Variable heads = split_heads(projected, options_.kv_heads);
  return rotated(key_norm ? key_norm->forward(heads) : std::move(heads), first_position, part);
}

Variable AttentionProjection::value_heads(const Variable& projected) const {
  return split_heads(projected, options_.kv_heads);
}

Variable AttentionProjection::query_heads(const Projected& p, int64_t rows, int64_t length, int64_t first_position,
                                          const SequencePart& part) const {
  if (p.q.defined()) return query_heads(p.q, first_position, part);
  const int64_t D = options_.head_width;
  return Tensor::zeros({1, 1, 1, D}).expand({rows, options_.heads, length, D});
}

std::pair<Variable, Variable> AttentionProjection::key_value_heads(const Projected& p, int64_t first_position,
                                                                   const SequencePart& part) const {
  const Variable v = value_heads(p.v);
  return {p.k.defined() ? key_heads(p.k, first_position, part) : v, v};
}

// ---- Parameters ----

void AttentionProjection::list_linear(ModuleContents& contents) const {
  if (options_.fused_qkv) return contents.child("query_key_value", query_key_value);
  if (reads_queries_) contents.child("query", query);
  if (reads_keys_) contents.child("key", key);
  contents.child("value", value);
}

void AttentionProjection::list_norms(ModuleContents& contents) const {
  if (query_norm) contents.child("query_norm", *query_norm);
  if (key_norm) contents.child("key_norm", *key_norm);
}

}  // namespace qkv
