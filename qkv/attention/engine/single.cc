// The single-query algorithm: few queries, many keys, as in decoding with a KV cache. SIMD lanes run along the width of
// keys and values. The keys are cut into spans that run in parallel, each with a softmax of its own, and the spans
// are merged in order. All queries that share keys read a tile of them together, while it is in the cache.
//
// The spans depend on S alone, and no query depends on another, so results do not depend on threads or the batch.

#include <algorithm>
#include <cmath>

#include "qkv/attention/cache_format.h"
#include "qkv/attention/engine/engine.h"
#include "qkv/attention/engine/pack.h"
#include "qkv/base/integers.h"
#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"

namespace qkv::internal {
namespace {

constexpr int64_t span_keys = 512;

// A block of one query.
QueryBlock single_query_block(const AttentionCall& call, int64_t batch, int64_t head, int64_t query) {
  return {&call.shape, batch, head, query, 1, lanes()};
}

void load_query(const AttentionCall& call, const QueryBlock& block, int64_t query, float* q) {
  if (!call.is_bf16()) {
    std::copy_n(row_pointer(call.q, block.batch, block.head, query), call.shape.D, q);
    return;
  }
  const bfloat16* from = row_pointer<bfloat16>(call.q, block.batch, block.head, query);
  for (int64_t d = 0; d < call.shape.D; ++d) q[d] = static_cast<float>(from[d]);
}

const int8_t* int8_row_pointer(const Tensor& x, int64_t batch, int64_t head, int64_t row) {
  return reinterpret_cast<const int8_t*>(row_pointer<uint8_t>(x, batch, head, row));
}

// out_ij = in_ij times the scale of int8 row j, for the rows of some queries, which may be the same memory.
void multiply_by_scales(const Tensor& x, const int8_t* row, int64_t keys, int64_t queries, const float* in,
                        float* out) {
  float scales[max_block_keys];
  for (int64_t j = 0; j < keys; ++j) scales[j] = scale_of_int8_row(row + j * x.stride(2), x.dim(3));
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j) out[i * max_block_keys + j] = in[i * max_block_keys + j] * scales[j];
}

// How far the rows of a key/value head are from those of the head that is read next: numbers of the caches.
struct NextHead {
  int64_t k = 0, v = 0;
};

// Rows are read one after the other, and prefetched this far ahead: the processor's own prefetching ends at each page. Those of
// the last tile are followed by the first ones of the next head.
kernel::RowAhead row_ahead(const AttentionCall& call, const Tile& tile, const Tensor& x, int64_t next_head) {
  constexpr int64_t min_far = 32, far_bytes = 8192;
  const int64_t far = std::max(min_far, far_bytes / std::max<int64_t>(1, x.stride(2) * size_of(x.dtype())));
  const int64_t rows = std::min(far, tile.keys), end = tile.key + tile.keys;
  if (end < call.shape.S) return {.rows = far, .inside = tile.keys, .beyond = 0};
  return {.rows = rows, .inside = tile.keys - rows, .beyond = next_head - (end - rows) * x.stride(2)};
}

// The rows of scores of the `queries` queries in q (queries, D), whose rows are q_stride apart.
void score_rows(const AttentionCall& call, const Tile& tile, const float* q, int64_t q_stride, int64_t queries,
                const NextHead& next, float* s) {
  const auto& kernels = kernel::kernels().attention;
  const int64_t kv_head = tile.kv_head();
  const auto from = [&](const auto* k) {
    return kernel::SingleScores<std::remove_cvref_t<decltype(*k)>>{.q = q,
                                                                   .q_stride = q_stride,
                                                                   .queries = queries,
                                                                   .k = k,
                                                                   .k_stride = call.k.stride(2),
                                                                   .keys = tile.keys,
                                                                   .D = call.shape.D,
                                                                   .ahead = row_ahead(call, tile, call.k, next.k),
                                                                   .scale = *call.score->dot_scale(call.shape.D),
                                                                   .s = s,
                                                                   .s_stride = max_block_keys};
  };
  switch (call.k.dtype()) {
    case DType::bf16:
      return kernels.single_bf16.scores(from(bf16_row_pointer(call.k, tile.batch, kv_head, tile.key)));
    case DType::u8: {
      const int8_t* const k = int8_row_pointer(call.k, tile.batch, kv_head, tile.key);
      kernels.single_int8.scores(from(k));
      return multiply_by_scales(call.k, k, tile.keys, queries, s, s);
    }
    default: return kernels.single.scores(from(row_pointer(call.k, tile.batch, kv_head, tile.key)));
  }
}

// The partial results of a query on a span: maximum, sum, rescale and E values. Those of adjacent queries on the
// same span are spans * size floats apart.
struct Partials {
  int64_t spans, size;
  Tensor memory;

  explicit Partials(const AttentionCall& call)
      : spans(std::max<int64_t>(1, ceil_div(call.shape.S, span_keys))),
        size(call.shape.E + 3),
        memory(Tensor::empty({call.shape.B * call.shape.H * call.shape.T * spans, size})) {}

  float* at(const QueryBlock& block, int64_t span) {
    const int64_t row = (block.batch * block.shape->H + block.head) * block.shape->T + block.query;
    return memory.data<float>() + (row * spans + span) * size;
  }
  static kernel::RunningSoftmax running(float* part) { return {part, part + 1, part + 2}; }
  static float* values(float* part) { return part + 3; }
};

// All queries of a key/value head on a span of keys.
class QueryGroup {
 public:
  QueryGroup(const AttentionCall& call, int64_t batch, int64_t kv_head, int64_t span, const NextHead& next,
             Partials& partials)
      : call_(call),
        next_(next),
        group_(call.shape.H / call.shape.G),
        count_(group_ * call.shape.T),
        batch_(batch),
        kv_head_(kv_head),
        step_(partials.spans * partials.size),
        parts_(partials.at(block(0), span)) {
    for (int64_t i = 0; i < count_; ++i) {
      float* part = parts_ + i * step_;
      reset(Partials::running(part), 1);
      std::fill_n(Partials::values(part), call.shape.E, 0.0f);
    }
    load_queries();
  }

  void run(const KeyRange& span) {
    for (int64_t key = span.begin; key < span.end; key += max_block_keys) {
      const KeyRange keys = {key, std::min(span.end, key + max_block_keys)};
      for (int64_t first = 0; first < count_; first += max_together) {
        const int64_t queries = std::min(max_together, count_ - first);
        if (all_visible(keys, first, queries)) {
          step({block(first), keys.begin, keys.end - keys.begin}, first, queries, nullptr);
          continue;
        }
        for (int64_t i = first; i < first + queries; ++i)
          for_each_tile(call_, block(i), keys,
                        [&](const Tile& tile, const uint64_t* visible) { step(tile, i, 1, visible); });
      }
    }
  }

 private:
  static constexpr int64_t max_together = 4;  // queries per call of a kernel

  // Query i of those that read this key/value head.
  QueryBlock block(int64_t i) const {
    return single_query_block(call_, batch_, kv_head_ * group_ + i / call_.shape.T, i % call_.shape.T);
  }

  // In place if they are the same distance apart.
  void load_queries() {
    const bool is_regular = group_ == 1 || call_.shape.T == 1;
    if (!call_.is_bf16() && is_regular) {
      q_ = row_pointer(call_.q, batch_, kv_head_ * group_, 0);
      q_stride_ = call_.q.stride(group_ == 1 ? 2 : 1);
      return;
    }
    float* const q = scratch_.floats(count_ * call_.shape.D);
    for (int64_t i = 0; i < count_; ++i) load_query(call_, block(i), block(i).query, q + i * call_.shape.D);
    q_ = q;
    q_stride_ = call_.shape.D;
  }

  bool all_visible(const KeyRange& keys, int64_t first, int64_t queries) const {
    int64_t visible = call_.mask ? 0 : queries * (keys.end - keys.begin);
    for (int64_t i = first; call_.mask && i < first + queries; ++i)
      for_each_visible_tile(call_, block(i), keys, [&](const Tile& tile, Visibility visibility) {
        if (visibility == Visibility::visible) visible += tile.keys;
      });
    return visible == queries * (keys.end - keys.begin);
  }

  // `tile` is the tile of query `first`; those of the other queries have the same keys.
  void step(const Tile& tile, int64_t first, int64_t queries, const uint64_t* visible) {
    float s[max_together * max_block_keys], rescale[max_together];
    score_rows(call_, tile, q_ + first * q_stride_, q_stride_, queries, next_, s);
    for (int64_t i = 0; i < queries; ++i) {
      const kernel::RunningSoftmax running = Partials::running(parts_ + (first + i) * step_);
      weigh({block(first + i), tile.key, tile.keys}, visible, s + i * max_block_keys, running);
      rescale[i] = *running.rescale;
    }
    add_values(tile, first, queries, s, rescale);
  }

  void add_values(const Tile& tile, int64_t first, int64_t queries, const float* w, const float* rescale) {
    const auto& kernels = kernel::kernels().attention;
    const auto from = [&](const auto* v, const float* weights) {
      return kernel::SingleOutput<std::remove_cvref_t<decltype(*v)>>{
          .w = weights,
          .w_stride = max_block_keys,
          .queries = queries,
          .v = v,
          .v_stride = call_.v.stride(2),
          .keys = tile.keys,
          .E = call_.shape.E,
          .ahead = row_ahead(call_, tile, call_.v, next_.v),
          .rescale = rescale,
          .out = Partials::values(parts_ + first * step_),
          .out_stride = step_};
    };
    switch (call_.v.dtype()) {
      case DType::bf16:
        return kernels.single_bf16.output(from(bf16_row_pointer(call_.v, batch_, kv_head_, tile.key), w));
      case DType::u8: {
        const int8_t* const v = int8_row_pointer(call_.v, batch_, kv_head_, tile.key);
        float scaled[max_together * max_block_keys];
        multiply_by_scales(call_.v, v, tile.keys, queries, w, scaled);
        return kernels.single_int8.output(from(v, scaled));
      }
      default: return kernels.single.output(from(row_pointer(call_.v, batch_, kv_head_, tile.key), w));
    }
  }

  // Turns scores into weights that are not yet divided by their sum.
  void weigh(const Tile& tile, const uint64_t* visible, float* s, const kernel::RunningSoftmax& running) const {
    if (!call_.modify.empty())
      as_tile(tile, s, [&](float* padded) {
        for (const ModifierPtr& modifier : call_.modify) modifier->forward(tile, padded);
      });
    if (visible) mask_scores(s, tile.keys, 1, visible);
    call_.normalize->step_row(s, tile.keys, running);
    if (!call_.reweigh.empty())
      as_tile(tile, s, [&](float* padded) {
        for (const ReweigherPtr& reweigher : call_.reweigh) reweigher->multiply(tile, padded);
      });
  }

  // Calls change(tile) for a mechanism that works on tiles; the row is the first lane of that tile.
  template <class Change>
  static void as_tile(const Tile& tile, float* row, Change change) {
    Scratch scratch;
    float* padded = scratch.floats(tile.keys * tile.width);
    std::fill_n(padded, tile.keys * tile.width, 0.0f);
    for (int64_t j = 0; j < tile.keys; ++j) padded[j * tile.width] = row[j];
    change(padded);
    for (int64_t j = 0; j < tile.keys; ++j) row[j] = padded[j * tile.width];
  }

  const AttentionCall& call_;
  NextHead next_;
  Scratch scratch_;
  int64_t group_, count_, batch_, kv_head_, step_;
  float* parts_;
  const float* q_ = nullptr;
  int64_t q_stride_ = 0;
};

// Writes a row of the result, of the sum of its spans.
void merge(const AttentionCall& call, const QueryBlock& block, Partials& partials, ForwardResult& result) {
  const int64_t E = call.shape.E;
  float maximum[max_block_queries], sum[max_block_queries], rescale[max_block_queries];  // block.width of them
  const kernel::RunningSoftmax total = {maximum, sum, rescale};
  reset(total, block.width);
  Scratch scratch;
  float* out = nullptr;
  if (partials.spans == 1) {
    float* const part = partials.at(block, 0);
    out = Partials::values(part);
    *total.maximum = std::max(*total.maximum, part[0]);
    *total.sum = part[1];
    if (part[1] == 0) std::fill_n(out, E, 0.0f);  // no visible key; a sum that is NaN makes the row NaN
  } else {
    out = scratch.floats(E);
    std::fill_n(out, E, 0.0f);
    for (int64_t span = 0; span < partials.spans; ++span)
      *total.maximum = std::max(*total.maximum, partials.at(block, span)[0]);
    for (int64_t span = 0; span < partials.spans; ++span) {
      const float* part = partials.at(block, span);
      if (part[1] == 0) continue;
      const float factor = std::exp(part[0] - *total.maximum);
      *total.sum += part[1] * factor;
      kernel::kernels().rows.add_scaled(part + 3, factor, E, out);
    }
  }
  call.normalize->finish(block, total);
  write_rows(out, E, 1, *total.rescale, result.out, {block.batch, block.head, block.query});
  write_statistics(result.statistics, block, total);
}

}  // namespace

void single_query_scores(const AttentionCall& call, const Tile& tile, float* s) {
  Scratch scratch;
  float* q = scratch.floats(call.shape.D);
  float row[max_block_keys];
  std::fill_n(s, tile.keys * tile.width, 0.0f);
  for (int64_t i = 0; i < tile.queries; ++i) {
    load_query(call, tile, tile.query + i, q);
    score_rows(call, tile, q, call.shape.D, 1, {}, row);
    for (int64_t j = 0; j < tile.keys; ++j) s[j * tile.width + i] = row[j];
  }
}

namespace {

// From key/value head bg of all rows of the batch to the one after it.
NextHead next_head(const AttentionCall& call, int64_t bg) {
  const int64_t G = call.shape.G;
  if (bg + 1 == call.shape.B * G) return {};
  const auto distance = [&](const Tensor& x) {
    return (bg + 1) % G != 0 ? x.stride(1) : x.stride(0) - (G - 1) * x.stride(1);
  };
  return {distance(call.k), distance(call.v)};
}

}  // namespace

void forward_single_queries(const AttentionCall& call, ForwardResult& result) {
  const AttentionShape& shape = call.shape;
  Partials partials(call);
  // Adjacent spans are one item where there are enough items for all threads: the next span reads what was
  // prefetched past the end of the one before. An item has work for some microseconds, or it would not be worth a thread.
  constexpr int64_t min_work = 32768;  // multiply-adds
  const int64_t work = shape.B * shape.H * shape.T * shape.S * (shape.D + shape.E);
  const int64_t spans = shape.B * shape.G * partials.spans;
  const int64_t items = std::min({spans, int64_t{8} * threads(), work / min_work + 1});
  const auto merge_rows = [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      merge(call, single_query_block(call, row / (shape.H * shape.T), row / shape.T % shape.H, row % shape.T),
            partials, result);
  };
  parallel_for(items, [&](int64_t item) {
    const int64_t begin = spans * item / items, end = spans * (item + 1) / items;
    {
      const kernel::FlushDenormals flush;
      for (int64_t n = begin; n < end; ++n) {
        const int64_t span = n % partials.spans, bg = n / partials.spans;
        QueryGroup(call, bg / shape.G, bg % shape.G, span, next_head(call, bg), partials)
            .run({span * span_keys, std::min(shape.S, (span + 1) * span_keys)});
      }
    }
    const int64_t rows_of_group = shape.H / shape.G * shape.T;
    if (partials.spans == 1) merge_rows(begin * rows_of_group, end * rows_of_group);
  });
  if (partials.spans > 1) parallel_ranges(shape.B * shape.H * shape.T, 32, merge_rows);
}

}  // namespace qkv::internal
