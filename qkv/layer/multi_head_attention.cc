#include "qkv/layer/multi_head_attention.h"

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/reweigh/dropout.h"
#include "qkv/base/error.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/shape.h"

namespace qkv {
namespace {

MultiHeadAttentionOptions completed(MultiHeadAttentionOptions o) {
  if (o.kv_heads == 0) o.kv_heads = o.heads;
  for (int64_t* width : {&o.query_width, &o.key_width, &o.value_width})
    if (*width == 0) *width = o.d_model;
  require(o.heads > 0 && o.d_model > 0 && (o.head_width > 0 || o.d_model % o.heads == 0), "MultiHeadAttention",
          "heads {} must divide d_model {}, or head_width must be given", o.heads, o.d_model);
  if (o.head_width == 0) o.head_width = o.d_model / o.heads;
  require(o.kv_heads > 0 && o.heads % o.kv_heads == 0, "MultiHeadAttention", "kv_heads {} must divide heads {}",
          o.kv_heads, o.heads);
  require(
      !o.packed || (o.use != AttentionUse::cross && o.key_width == o.query_width && o.value_width == o.query_width),
      "MultiHeadAttention", "packed projections are for self-attention only");
  require(!o.packed || (o.bias.query == o.bias.value && o.bias.key == o.bias.value), "MultiHeadAttention",
          "packed projections have a bias for queries, keys and values, or for none of them");
  require(!o.packed || !o.variant.has_global_projections(), "MultiHeadAttention",
          "longformer-separate cannot have packed projections");
  check_variant(o.variant, o.size(), "MultiHeadAttention");
  return o;
}

// All keys are visible to the queries of global tokens and positions, none to the others. Query 0 has position `first`.
MaskPtr global_rows(int64_t global_positions, const Tensor& tokens, const AttentionShape& shape, int64_t first) {
  Tensor lengths = Tensor::zeros({shape.B, shape.T}, DType::i32);
  for (int64_t b = 0; b < shape.B; ++b)
    for (int64_t i = 0; i < shape.T; ++i)
      if (first + i < global_positions || (tokens.defined() && tokens.at<int32_t>({b, i}) != 0))
        lengths.data<int32_t>()[b * shape.T + i] = static_cast<int32_t>(shape.S);
  return padding(lengths);
}

Tensor lengths_of(const MultiHeadAttention::KeyValues& memory) {
  if (memory.lengths.defined()) return memory.lengths;
  const auto S = static_cast<int32_t>(memory.k.dim(2));
  return Tensor::from(std::vector<int32_t>(static_cast<size_t>(memory.k.dim(0)), S), {memory.k.dim(0)});
}

// (B,H,T,S) -> (B,T,S)
Tensor mean_over_heads(const Tensor& weights) {
  const int64_t B = weights.dim(0), H = weights.dim(1), T = weights.dim(2), S = weights.dim(3);
  Tensor mean = Tensor::zeros({B, T, S});
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h) {
      const Tensor head = weights.select(0, b).select(0, h).contiguous_copy();
      float* to = mean.data<float>() + b * T * S;
      const float* from = head.data<float>();
      for (int64_t i = 0; i < T * S; ++i) to[i] += from[i] / static_cast<float>(H);
    }
  return mean;
}

}  // namespace

AttentionSize MultiHeadAttentionOptions::size() const {
  return {.use = use,
          .d_model = d_model,
          .heads = heads,
          .kv_heads = kv_heads == 0 ? heads : kv_heads,
          .head_width = head_width == 0 ? d_model / heads : head_width,
          .query_width = query_width == 0 ? d_model : query_width,
          .key_width = key_width == 0 ? d_model : key_width,
          .value_width = value_width == 0 ? d_model : value_width,
          .bias = bias.query};
}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options)
    : query(0, 0), key(0, 0), value(0, 0), out(0, 0), query_key_value(0, 0), options_(completed(options)) {
  const MultiHeadAttentionOptions& o = options_;
  const Axis C(o.d_model, "C"), D(o.head_width, "D");
  const auto width = [&](int64_t size) { return size == C.size ? C : Axis(size); };
  const auto heads_width = [&](int64_t heads, const char* letter) {
    const int64_t size = heads * o.head_width;
    return size == C.size ? C : Axis(size, letter);
  };
  const Axis Q = heads_width(o.heads, "Q"), K = heads_width(o.kv_heads, "K");
  const bool reads_queries = o.variant.reads_queries(), reads_keys = o.variant.reads_keys();
  if (o.packed) {
    const int64_t rows = (reads_queries ? Q.size : 0) + (reads_keys ? K.size : 0) + K.size;
    query_key_value = Linear(width(o.query_width), rows, o.bias.query);
  } else {
    if (reads_queries) query = Linear(width(o.query_width), Q, o.bias.query);
    if (reads_keys) key = Linear(width(o.key_width), K, o.bias.key);
    value = Linear(width(o.value_width), K, o.bias.value);
  }
  out = Linear(Q, C, o.bias.out);
  if (o.query_key_norm && reads_queries) query_norm.emplace(D, *o.query_key_norm);
  if (o.query_key_norm && reads_keys) key_norm.emplace(D, *o.query_key_norm);
  for (const AttentionMechanismPtr& mechanism : options_.variant.mechanisms())
    parts_.emplace_back(mechanism, options_.size());
}

void MultiHeadAttention::share_parameters_of(const MultiHeadAttention& earlier) {
  for (AttentionPart& part : parts_)
    for (const AttentionPart& other : earlier.parts_) part.share_parameters_of(other);
}

const AttentionOptions& MultiHeadAttention::call_options() const {
  return call_options_->get([&] { return attention_options(parts_); });
}

const AttentionPart* MultiHeadAttention::global_part() const {
  for (const AttentionPart& part : parts_)
    if (part.mechanism().global_positions()) return &part;
  return nullptr;
}

const AttentionPart* MultiHeadAttention::replacing_part() const {
  for (const AttentionPart& part : parts_)
    if (part.mechanism().replaces_attention()) return &part;
  return nullptr;
}

// ---- Projections ----

Variable MultiHeadAttention::rotated(const Variable& heads, int64_t first_position) const {
  Variable turned = heads;
  for (const AttentionPart& part : parts_) turned = part.mechanism().rotate(turned, first_position);
  return turned;
}

Variable MultiHeadAttention::query_heads(const Variable& projected, int64_t first_position) const {
  const Variable heads = split_heads(projected, options_.heads);
  return rotated(query_norm ? query_norm->forward(heads) : heads, first_position);
}

Variable MultiHeadAttention::key_heads(const Variable& projected, int64_t first_position) const {
  const Variable heads = split_heads(projected, options_.kv_heads);
  return rotated(key_norm ? key_norm->forward(heads) : heads, first_position);
}

// Attention needs queries of the right shape even where it does not read them.
Variable MultiHeadAttention::unread_queries(int64_t rows, int64_t length) const {
  return Tensor::zeros({1, 1, 1, options_.head_width}).expand({rows, options_.heads, length, options_.head_width});
}

bool MultiHeadAttention::has_global_positions(int64_t first_position, const Tensor& tokens) const {
  const AttentionPart* part = global_part();
  return part && (tokens.defined() || first_position < *part->mechanism().global_positions());
}

void MultiHeadAttention::project_queries(const Variable& source, bool global, Projections& to) const {
  if (!options_.variant.reads_queries()) return;
  to.q = query.forward(source);
  if (!global) return;
  const AttentionPart& part = *global_part();
  to.global_q = part.mechanism().project_global(part, GlobalProjection::query, source);
}

void MultiHeadAttention::project_keys_values(const Variable& key_source, const Variable& value_source, bool global,
                                             Projections& to) const {
  if (options_.variant.reads_keys()) to.k = key.forward(key_source);
  to.v = value.forward(value_source);
  if (!global) return;
  const AttentionPart& part = *global_part();
  to.global_k = part.mechanism().project_global(part, GlobalProjection::key, key_source);
  to.global_v = part.mechanism().project_global(part, GlobalProjection::value, value_source);
}

MultiHeadAttention::Projections MultiHeadAttention::project_self(const Variable& x, bool global) const {
  Projections p;
  if (!options_.packed) {
    project_queries(x, global, p);
    project_keys_values(x, x, global, p);
    return p;
  }
  const Variable all = query_key_value.forward(x);
  const int axis = static_cast<int>(all.value().rank()) - 1;
  int64_t begin = 0;  // of the next projection
  const auto next = [&](int64_t heads) {
    begin += heads * options_.head_width;
    return qkv::slice(all, axis, begin - heads * options_.head_width, begin);
  };
  if (options_.variant.reads_queries()) p.q = next(options_.heads);
  if (options_.variant.reads_keys()) p.k = next(options_.kv_heads);
  p.v = next(options_.kv_heads);
  return p;
}

MultiHeadAttention::Projections MultiHeadAttention::Projections::slice(int64_t begin, int64_t rows,
                                                                       int64_t length) const {
  const auto part = [&](const Variable& x) {
    if (!x.defined()) return x;
    const bool whole = rows * length == x.dim(0);
    return reshape(whole ? x : qkv::slice(x, 0, begin, begin + rows * length), {rows, length, x.dim(1)});
  };
  return {part(q), part(k), part(v), part(global_q), part(global_k), part(global_v)};
}

MultiHeadAttention::Queries MultiHeadAttention::queries_of(const Projections& p, int64_t rows, int64_t length,
                                                           int64_t first_position) const {
  Queries queries = {p.q.defined() ? query_heads(p.q, first_position) : unread_queries(rows, length), {}};
  if (p.global_q.defined()) queries.global_q = query_heads(p.global_q, first_position);
  return queries;
}

// Where keys are not read, the values are passed instead: they have the same shape.
MultiHeadAttention::KeyValues MultiHeadAttention::keys_values_of(const Projections& p,
                                                                 int64_t first_position) const {
  const int64_t G = options_.kv_heads;
  const Variable v = split_heads(p.v, G);
  KeyValues memory = {p.k.defined() ? key_heads(p.k, first_position) : v, v};
  if (p.global_k.defined()) {
    memory.global_k = key_heads(p.global_k, first_position);
    memory.global_v = split_heads(p.global_v, G);
  }
  return memory;
}

// ---- Calls ----

AttentionLog* MultiHeadAttention::log_of(const Pass& pass) const {
  return pass.log && pass.log->records({options_.use, options_.layer}) ? pass.log : nullptr;
}

AttentionVariableResult MultiHeadAttention::attend_heads(const Queries& queries, const KeyValues& memory,
                                                         const Call& call, Pass& pass) const {
  AttentionOptions options = call_options();
  options.single_queries = call.single_queries;
  if (!parts_.empty()) {
    const AttentionCallContext context = {
        .q = queries.q,
        .key_lengths = lengths_of(memory),
        .position = call.same_position ? std::optional(call.first_position) : std::nullopt,
        .global_tokens = pass.global_tokens};
    for (const AttentionPart& part : parts_) part.mechanism().add_to_call(options, part, context);
  }
  options.mask = options.mask & call.mask;
  if (const Dropout d = pass.dropout(options_.dropout); d.rate > 0)
    options.reweigh.push_back(weight_dropout({.rate = d.rate, .seed = d.seed, .stream = d.stream}));
  const AttentionLog* log = log_of(pass);
  const auto attend = [&](const Variable& q, const Variable& k, const Variable& v) -> AttentionVariableResult {
    if (!log) return {attention(q, k, v, options), {}, {}};
    if (!log->mean_over_heads || queries.global_q.defined()) return attention_with_weights(q, k, v, options);
    require(!recording(std::vector<Variable>{q, k, v}), "AttentionLog",
            "mean_over_heads is not available while gradients are recorded");
    const AttentionResult result = attention_with_mean_weights(q.value(), k.value(), v.value(), options);
    return {result.out, result.weights, {}};
  };
  if (!queries.global_q.defined()) return attend(queries.q, memory.k, memory.v);
  if (call.same_position) return attend(queries.global_q, memory.global_k, memory.global_v);

  // One call for the global rows and one for the others: the output is zero in rows where no key is visible.
  const MaskPtr rows =
      global_rows(*global_part()->mechanism().global_positions(), pass.global_tokens,
                  {.B = queries.q.dim(0), .T = queries.q.dim(2), .S = memory.k.dim(2)}, call.first_position);
  const MaskPtr all = options.mask;
  options.mask = all & !rows;
  const AttentionVariableResult others = attend(queries.q, memory.k, memory.v);
  options.mask = all & rows;
  const AttentionVariableResult global = attend(queries.global_q, memory.global_k, memory.global_v);
  return {add(others.out, global.out), log ? add(others.weights, global.weights).value() : Tensor(), {}};
}

Variable MultiHeadAttention::attend_logged(const Queries& queries, const KeyValues& memory, const Call& call,
                                           Pass& pass) const {
  const AttentionPart* part = replacing_part();
  const AttentionVariableResult result = part
                                             ? part->mechanism().attend(*part,
                                                                        {.q = queries.q,
                                                                         .k = memory.k,
                                                                         .v = memory.v,
                                                                         .mask = call_options().mask & call.mask,
                                                                         .dropout = pass.dropout(options_.dropout)},
                                                                        log_of(pass) != nullptr)
                                             : attend_heads(queries, memory, call, pass);
  if (AttentionLog* log = log_of(pass)) {
    const bool average = log->mean_over_heads && result.weights.rank() == 4;
    log->entries.push_back(
        {{options_.use, options_.layer}, average ? mean_over_heads(result.weights) : result.weights});
  }
  return result.out;
}

Variable MultiHeadAttention::forward(const Variable& x, const MaskPtr& mask, Pass& pass) const {
  const Projections p = project_self(x, has_global_positions(0, pass.global_tokens));
  return out.forward(
      join_heads(attend_logged(queries_of(p, x.dim(0), x.dim(1), 0), keys_values_of(p, 0), {.mask = mask}, pass)));
}

Variable MultiHeadAttention::forward(const Variable& query_source, const Variable& key_source,
                                     const Variable& value_source, const MaskPtr& mask, Pass& pass) const {
  return attend(query_source, project(key_source, value_source), mask, pass);
}

MultiHeadAttention::KeyValues MultiHeadAttention::project(const Variable& key_source, const Variable& value_source,
                                                          const Tensor& lengths) const {
  require(!options_.packed, "MultiHeadAttention", "packed projections have one source: forward(x, mask, pass)");
  Projections p;
  project_keys_values(key_source, value_source, has_global_positions(0, {}), p);
  KeyValues memory = keys_values_of(p, 0);
  memory.lengths = lengths;
  return memory;
}

Variable MultiHeadAttention::attend(const Variable& query_source, const KeyValues& memory, const MaskPtr& mask,
                                    Pass& pass) const {
  Projections p;
  project_queries(query_source, memory.global_k.defined(), p);
  return out.forward(join_heads(
      attend_logged(queries_of(p, query_source.dim(0), query_source.dim(1), 0), memory, {.mask = mask}, pass)));
}

// ---- Decoding ----

namespace {

template <class Segment>
void check_segments(const Variable& x, std::span<const Segment> segments) {
  int64_t positions = 0;
  for (const Segment& segment : segments) positions += segment.rows * segment.length;
  require(x.value().rank() == 2 && x.dim(0) == positions && positions > 0, "MultiHeadAttention::extend",
          "x must be (N,C) with the N {} new positions of the segments, got {}", positions, x.shape());
}

}  // namespace

Variable MultiHeadAttention::extend_one(const Queries& queries, const KeyValues& memory, AttentionCache& cache,
                                        Pass& pass) const {
  require(!pass.global_tokens.defined(), "MultiHeadAttention::extend",
          "global tokens are for passes over whole sequences, not for decoding");
  const int64_t position = cache.length(), length = queries.q.dim(2);
  if (const AttentionPart* part = replacing_part())
    return part->mechanism().extend(
        *part, {.q = queries.q, .k = memory.k, .v = memory.v, .mask = causal() & call_options().mask}, cache);
  cache.keys.append(memory.k.value(), memory.v.value());
  KeyValues past = {cache.keys.keys(), cache.keys.values()};
  if (memory.global_k.defined()) {
    cache.global_keys.append(memory.global_k.value(), memory.global_v.value());
    past.global_k = cache.global_keys.keys();
    past.global_v = cache.global_keys.values();
  }
  return attend_logged(
      queries, past,
      {.mask = length == 1 ? MaskPtr() : causal(), .first_position = position, .single_queries = length == 1},
      pass);
}

Variable MultiHeadAttention::extend(const Variable& x, std::span<const SelfSegment> segments, Pass& pass) const {
  check_segments(x, segments);
  bool global = false;
  for (const SelfSegment& s : segments) global = global || has_global_positions(s.cache->length(), {});
  const Projections all = project_self(x, global);
  Tensor outputs;  // (N, H D), of all segments
  int64_t begin = 0;
  for (const SelfSegment& s : segments) {
    const int64_t position = s.cache->length(), count = s.rows * s.length;
    Projections p = all.slice(begin, s.rows, s.length);
    if (!has_global_positions(position, {})) p.global_q = p.global_k = p.global_v = {};
    const Variable y = join_heads(
        extend_one(queries_of(p, s.rows, s.length, position), keys_values_of(p, position), *s.cache, pass));
    if (segments.size() == 1) return out.forward(reshape(y, {count, y.dim(2)}));
    if (!outputs.defined()) outputs = Tensor::empty({x.dim(0), y.dim(2)});
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
  bool global = false;
  for (const CrossSegment& s : segments) global = global || has_global_positions(s.position, {});
  Projections all;
  project_queries(x, global, all);
  Tensor outputs;
  int64_t begin = 0;
  for (const CrossSegment& s : segments) {
    const int64_t B = s.memory->k.dim(0), count = s.rows * s.length;
    require(B > 0 && s.rows % B == 0, "MultiHeadAttention::extend",
            "{} rows must be a multiple of the batch {} of the memory", s.rows, B);
    const Projections p = all.slice(begin, s.rows, s.length);
    for (int64_t i = 0; i < s.length; ++i) {
      // Position i of all rows: those that share a memory are queries of one call.
      const auto at = [&](const Variable& v) {
        if (!v.defined()) return v;
        return reshape(s.length == 1 ? v : qkv::slice(v, 1, i, i + 1), {B, s.rows / B, v.dim(2)});
      };
      const int64_t position = s.position + i;
      Projections one = {at(p.q), {}, {}, has_global_positions(position, {}) ? at(p.global_q) : Variable()};
      const Variable y = join_heads(attend_logged(
          queries_of(one, B, s.rows / B, position), *s.memory,
          {.mask = s.mask, .first_position = position, .same_position = true, .single_queries = true}, pass));
      if (segments.size() == 1 && s.length == 1) return out.forward(reshape(y, {count, y.dim(2)}));
      if (!outputs.defined()) outputs = Tensor::empty({x.dim(0), y.dim(2)});
      outputs.slice(0, begin, begin + count)
          .reshape({s.rows, s.length, y.dim(2)})
          .slice(1, i, i + 1)
          .copy_from(y.value().contiguous_copy().reshape({s.rows, 1, y.dim(2)}));
    }
    begin += count;
  }
  return out.forward(outputs);
}

// ---- Parameters ----

void MultiHeadAttention::list(ModuleContents& contents) const {
  if (options_.packed) {
    contents.child("query_key_value", query_key_value);
  } else {
    if (options_.variant.reads_queries()) contents.child("query", query);
    if (options_.variant.reads_keys()) contents.child("key", key);
    contents.child("value", value);
  }
  contents.child("out", out);
  if (query_norm) contents.child("query_norm", *query_norm);
  if (key_norm) contents.child("key_norm", *key_norm);
  for (const AttentionPart& part : parts_) contents.child(std::string(part.mechanism().facts().name), part);
}

}  // namespace qkv
