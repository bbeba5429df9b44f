// Decoding: several segments of rows in one call of the linear layers, each with attention of its own.
#include "qkv/base/error.h"
#include "qkv/layer/multi_head_attention.h"
#include "qkv/op/shape.h"

namespace qkv {
namespace {

template <class Segment>
void check_segments(const Variable& x, std::span<const Segment> segments) {
  int64_t positions = 0;
  for (const Segment& segment : segments) positions += segment.rows * segment.length;
  require(x.value().rank() == 2 && x.dim(0) == positions && positions > 0, "MultiHeadAttention::extend",
          "x must be (N,C) with the N {} new positions of the segments, got {}", positions, x.shape());
}

}  // namespace

void MultiHeadAttention::KeyValues::hold_as(CacheFormat format) {
  stored.emplace(format, k.value(), v.value());
  k = stored->stored_keys();
  v = stored->stored_values();
}

void MultiHeadAttention::KeyValues::reorder(std::span<const int64_t> rows) {
  if (!stored) {
    k = gather_rows(k.value(), rows);
    v = gather_rows(v.value(), rows);
    return;
  }
  stored->reorder(rows);
  k = stored->stored_keys();
  v = stored->stored_values();
}

Variable MultiHeadAttention::extend(const Variable& x, std::span<const SelfSegment> segments, Pass& pass) const {
  check_segments(x, segments);
  const Projected all = projection.self(x);
  Tensor outputs;  // (N, H D), of all segments
  int64_t begin = 0;
  for (const SelfSegment& s : segments) {
    const int64_t position = s.cache->length(), count = s.rows * s.length;
    const Projected p = all.slice(begin, s.rows, s.length);
    AttentionCore::Sources sources = {.projection = &projection};
    if (core_.projects_globals())
      sources.query = sources.key = sources.value = slice_rows(x, begin, s.rows, s.length);
    const auto [k, v] = projection.key_value_heads(p, position);
    const Variable q = projection.query_heads(p, s.rows, s.length, position);
    Variable y = join_heads(core_.extend({.q = q, .k = k, .v = v}, sources, *s.cache, pass));
    const int64_t width = y.dim(2);
    if (segments.size() == 1) return out.forward(reshape(std::move(y), {count, width}));
    if (!outputs.defined()) outputs = Tensor::empty({x.dim(0), width});
    outputs.slice(0, begin, begin + count).reshape(y.shape()).copy_from(y.value());
    begin += count;
  }
  return out.forward(outputs);
}

Variable MultiHeadAttention::extend(const Variable& x, AttentionCache& cache, Pass& pass) const {
  require(x.value().rank() == 3, "MultiHeadAttention::extend", "x must be (B,T,C), got {}", x.shape());
  const SelfSegment segment = {.rows = x.dim(0), .length = x.dim(1), .cache = &cache};
  const Variable y = extend(reshape(x, {x.dim(0) * x.dim(1), x.dim(2)}), std::span(&segment, 1), pass);
  return reshape(y, {x.dim(0), x.dim(1), y.dim(1)});
}

Variable MultiHeadAttention::extend(const Variable& x, std::span<const CrossSegment> segments, Pass& pass) const {
  check_segments(x, segments);
  check_memory_fits();
  const Projected all = projection.queries(x);
  Tensor outputs;
  int64_t begin = 0;
  for (const CrossSegment& s : segments) {
    const int64_t B = s.memory->k.dim(0), count = s.rows * s.length;
    require(B > 0 && s.rows % B == 0, "MultiHeadAttention::extend",
            "{} rows must be a multiple of the batch {} of the memory", s.rows, B);
    const Projected p = all.slice(begin, s.rows, s.length);
    for (int64_t i = 0; i < s.length; ++i) {
      // Position i of all rows: those that share a memory are queries of one call.
      const auto at = [&](const Variable& v) {
        if (!v.defined()) return v;
        return reshape(s.length == 1 ? v : slice(v, 1, i, i + 1), {B, s.rows / B, v.dim(2)});
      };
      const int64_t position = s.position + i;
      const Variable q = projection.query_heads({at(p.q), {}, {}}, B, s.rows / B, position);
      Variable y =
          join_heads(core_.attend({.q = q, .k = s.memory->k, .v = s.memory->v, .key_lengths = s.memory->lengths},
                                  {.mask = s.mask,
                                   .first_position = position,
                                   .same_position = true,
                                   .single_queries = true,
                                   .stored = s.memory->stored ? &*s.memory->stored : nullptr},
                                  pass));
      const int64_t width = y.dim(2);
      if (segments.size() == 1 && s.length == 1) return out.forward(reshape(std::move(y), {count, width}));
      if (!outputs.defined()) outputs = Tensor::empty({x.dim(0), width});
      outputs.slice(0, begin, begin + count)
          .reshape({s.rows, s.length, width})
          .slice(1, i, i + 1)
          .copy_from(y.value().contiguous_copy().reshape({s.rows, 1, width}));
    }
    begin += count;
  }
  return out.forward(outputs);
}

}  // namespace qkv
