// Few queries, many keys: decoding. Lanes of queries would stand empty, so every query goes alone, lanes along the
// width; and the keys are cut into spans that run in parallel, each with a softmax of its own, merged in the order
// of the spans. All query heads that share keys visit a span one after another, while it is in the cache.
//
// The cut depends on S alone, so neither threads nor other rows of the batch change a bit.

#include <algorithm>
#include <cmath>
#include <limits>

#include "qkv/attention/engine/engine.h"
#include "qkv/attention/engine/pack.h"
#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"

namespace qkv {
namespace {

constexpr int64_t span_keys = 512;

// A query as a block of its own.
QueryBlock query_block(const AttentionCall& call, int64_t batch, int64_t head, int64_t query) {
  return {&call.shape, batch, head, query, 1, lanes()};
}

void load_query(const AttentionCall& call, const QueryBlock& block, int64_t query, float* q) {
  if (!call.pairs()) {
    std::copy_n(rows(call.q, block.batch, block.head, query), call.shape.D, q);
    return;
  }
  const bfloat16* from = rows<bfloat16>(call.q, block.batch, block.head, query);
  for (int64_t d = 0; d < call.shape.D; ++d) q[d] = static_cast<float>(from[d]);
}

void row_of_scores(const AttentionCall& call, const Tile& tile, const float* q, float* s) {
  const auto& kernels = kernel::kernels().attention;
  const int64_t stride = call.k.stride(2), D = call.shape.D;
  const float scale = *call.score->dot_scale(D);
  if (call.pairs())
    kernels.single_bf16.scores(q, halves(call.k, tile.batch, tile.kv_head(), tile.key), stride, tile.keys, D, scale,
                               s);
  else
    kernels.single.scores(q, rows(call.k, tile.batch, tile.kv_head(), tile.key), stride, tile.keys, D, scale, s);
}

// One query on one span. Statistics have one lane that counts.
class Query {
 public:
  Query(const AttentionCall& call, const QueryBlock& block, const kernel::RunningSoftmax& running, float* out)
      : call_(call), block_(block), running_(running), out_(out), q_(scratch_.floats(call.shape.D)) {
    *running.maximum = -std::numeric_limits<float>::infinity();
    *running.sum = 0.0f;
    std::fill_n(out, call.shape.E, 0.0f);
    load_query(call, block, block.query, q_);
  }

  void visit(const KeyRange& span) {
    for_each_tile(call_, block_, span, [&](const Tile& tile, const uint64_t* visible) { step(tile, visible); });
  }

 private:
  void step(const Tile& tile, const uint64_t* visible) {
    float s[max_block_keys];
    row_of_scores(call_, tile, q_, s);
    if (call_.modify.empty() && call_.reweigh.empty()) {
      if (visible) hide(tile, visible, s);
      call_.normalize->step_row(s, tile.keys, running_);
    } else {
      step_as_tile(tile, visible, s);
    }
    add_values(tile, s);
  }

  void add_values(const Tile& tile, const float* w) {
    const auto& kernels = kernel::kernels().attention;
    const int64_t stride = call_.v.stride(2), E = call_.shape.E;
    if (call_.pairs())
      kernels.single_bf16.output(w, halves(call_.v, tile.batch, tile.kv_head(), tile.key), stride, tile.keys, E,
                                 *running_.rescale, out_);
    else
      kernels.single.output(w, rows(call_.v, tile.batch, tile.kv_head(), tile.key), stride, tile.keys, E,
                            *running_.rescale, out_);
  }

  static void hide(const Tile& tile, const uint64_t* visible, float* s) {
    for (int64_t j = 0; j < tile.keys; ++j)
      if (!(visible[j] & 1)) s[j] = -std::numeric_limits<float>::infinity();
  }

  // Parts work on tiles: the row becomes the first lane of one.
  void step_as_tile(const Tile& tile, const uint64_t* visible, float* s) const {
    Scratch scratch;
    float* wide = scratch.floats(tile.keys * tile.width);
    std::fill_n(wide, tile.keys * tile.width, 0.0f);
    for (int64_t j = 0; j < tile.keys; ++j) wide[j * tile.width] = s[j];
    for (const ModifierPtr& modifier : call_.modify) modifier->forward(tile, wide);
    for (int64_t j = 0; j < tile.keys; ++j) s[j] = wide[j * tile.width];
    if (visible) hide(tile, visible, s);
    call_.normalize->step_row(s, tile.keys, running_);
    if (call_.reweigh.empty()) return;
    for (int64_t j = 0; j < tile.keys; ++j) wide[j * tile.width] = s[j];
    for (const ReweigherPtr& reweigher : call_.reweigh) reweigher->multiply(tile, wide);
    for (int64_t j = 0; j < tile.keys; ++j) s[j] = wide[j * tile.width];
  }

  const AttentionCall& call_;
  const QueryBlock block_;
  kernel::RunningSoftmax running_;
  float* out_;
  Scratch scratch_;
  float* q_;
};

// A query's results on a span: maximum, sum, and (E) values.
struct Partials {
  int64_t spans, size;
  Tensor memory;

  explicit Partials(const AttentionCall& call)
      : spans(std::max<int64_t>(1, (call.shape.S + span_keys - 1) / span_keys)),
        size(call.shape.E + 3),
        memory(Tensor::empty({call.shape.B * call.shape.H * call.shape.T * spans, size})) {}

  float* at(const QueryBlock& block, int64_t span) {
    const int64_t row = (block.batch * block.whole->H + block.head) * block.whole->T + block.query;
    return memory.data<float>() + (row * spans + span) * size;
  }
};

void merge(const AttentionCall& call, const QueryBlock& block, Partials& partials, ForwardResult& result) {
  const int64_t E = call.shape.E;
  Scratch scratch;
  const kernel::RunningSoftmax total = {scratch.floats(block.width), scratch.floats(block.width),
                                        scratch.floats(block.width)};
  std::fill_n(total.maximum, block.width, -std::numeric_limits<float>::infinity());
  std::fill_n(total.sum, block.width, 0.0f);
  float* out = scratch.floats(E);
  std::fill_n(out, E, 0.0f);
  for (int64_t span = 0; span < partials.spans; ++span)
    *total.maximum = std::max(*total.maximum, partials.at(block, span)[0]);
  for (int64_t span = 0; span < partials.spans; ++span) {
    const float* part = partials.at(block, span);
    if (!(part[1] > 0)) continue;
    const float factor = partials.spans == 1 ? 1.0f : std::exp(part[0] - *total.maximum);
    *total.sum += part[1] * factor;
    kernel::kernels().rows.add_scaled(part + 3, factor, E, out);
  }
  call.normalize->finish(block, total);
  write_row(out, E, *total.rescale, result.out, block.batch, block.head, block.query);
  write_statistics(result.statistics, block, total);
}

}  // namespace

bool are_single_queries(const AttentionShape& shape, const AttentionOptions& options) {
  const bool is_dot = !options.score || options.score->dot_scale(shape.D).has_value();
  return is_dot && (shape.T == 1 || options.single_queries);
}

void single_query_scores(const AttentionCall& call, const Tile& tile, float* s) {
  Scratch scratch;
  float* q = scratch.floats(call.shape.D);
  float row[max_block_keys];
  std::fill_n(s, tile.keys * tile.width, 0.0f);
  for (int64_t i = 0; i < tile.queries; ++i) {
    load_query(call, tile, tile.query + i, q);
    row_of_scores(call, tile, q, row);
    for (int64_t j = 0; j < tile.keys; ++j) s[j * tile.width + i] = row[j];
  }
}

void forward_single_queries(const AttentionCall& call, ForwardResult& result) {
  const AttentionShape& shape = call.shape;
  const int64_t group = shape.H / shape.G;
  Partials partials(call);
  parallel_for(shape.B * shape.G * partials.spans, [&](int64_t item) {
    const int64_t span = item % partials.spans, bg = item / partials.spans;
    const KeyRange keys = {span * span_keys, std::min(shape.S, (span + 1) * span_keys)};
    for (int64_t i = 0; i < group * shape.T; ++i) {
      const QueryBlock block = query_block(call, bg / shape.G, bg % shape.G * group + i / shape.T, i % shape.T);
      float* part = partials.at(block, span);
      Query(call, block, {.maximum = part, .sum = part + 1, .rescale = part + 2}, part + 3).visit(keys);
    }
  });
  parallel_ranges(shape.B * shape.H * shape.T, 32, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      merge(call, query_block(call, row / (shape.H * shape.T), row / shape.T % shape.H, row % shape.T), partials,
            result);
  });
}

}  // namespace qkv
