#include "qkv/layer/multi_head_attention.h"

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/reweigh/dropout.h"
#include "qkv/base/error.h"
#include "qkv/layer/mechanism/multi_token.h"
#include "qkv/layer/mechanism/projection.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/shape.h"

namespace qkv {
namespace {

using Role = AttentionMechanism::Role;

MultiHeadAttentionOptions completed(MultiHeadAttentionOptions o) {
  if (o.kv_heads == 0) o.kv_heads = o.heads;
  if (o.key_width == 0) o.key_width = o.width;
  if (o.value_width == 0) o.value_width = o.width;
  require(o.heads > 0 && o.width > 0 && o.width % o.heads == 0, "MultiHeadAttention",
          "{} heads must divide the width C {}", o.heads, o.width);
  require(o.kv_heads > 0 && o.heads % o.kv_heads == 0, "MultiHeadAttention",
          "{} key/value heads must divide {} heads", o.kv_heads, o.heads);
  require(!o.packed || (o.use != AttentionUse::cross && o.key_width == o.width && o.value_width == o.width),
          "MultiHeadAttention", "packed projections are for self-attention");
  require(!o.packed || !o.variant.has(Role::projections), "MultiHeadAttention",
          "longformer-separate has projections of its own, which are not packed");
  check_variant(o.variant, o.size(), "MultiHeadAttention");
  return o;
}

Tensor as_tensor_of_lengths(const MultiHeadAttention::KeyValues& memory) {
  if (memory.lengths.defined()) return memory.lengths;
  const auto S = static_cast<int32_t>(memory.k.dim(2));
  return Tensor::from(std::vector<int32_t>(static_cast<size_t>(memory.k.dim(0)), S), {memory.k.dim(0)});
}

}  // namespace

AttentionSize MultiHeadAttentionOptions::size() const {
  return {.use = use,
          .width = width,
          .heads = heads,
          .kv_heads = kv_heads == 0 ? heads : kv_heads,
          .key_width = key_width == 0 ? width : key_width,
          .value_width = value_width == 0 ? width : value_width,
          .bias = bias,
          .dropout = dropout > 0};
}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options)
    : query(0, 0), key(0, 0), value(0, 0), out(0, 0), query_key_value(0, 0), options_(completed(options)) {
  const int64_t width = options_.width, kv_width = width / options_.heads * options_.kv_heads;
  if (options_.packed) {
    query_key_value = Linear(width, width + 2 * kv_width, options_.bias);
  } else {
    query = Linear(width, width, options_.bias);
    key = Linear(options_.key_width, kv_width, options_.bias);
    value = Linear(options_.value_width, kv_width, options_.bias);
  }
  out = Linear(width, width, options_.bias);
  for (const AttentionVariant::Part& part : options_.variant.parts()) parts_.emplace_back(part, options_.size());
  for (const AttentionPart& part : parts_)
    if (part.word().add_to) part.word().add_to(sentence_, part);
}

const AttentionPart* MultiHeadAttention::part_of(Role role) const {
  for (const AttentionPart& part : parts_)
    if (part.word().role == role) return &part;
  return nullptr;
}

// ---- Heads ----

Variable MultiHeadAttention::turned(const Variable& heads, int64_t first) const {
  const AttentionPart* turn = part_of(Role::turn);
  return turn ? turn->word().turn(heads, first, turn->numbers()) : heads;
}

MultiHeadAttention::Queries MultiHeadAttention::queries_of(const Variable& source, int64_t first) const {
  Queries queries = {turned(split_heads(query.forward(source), options_.heads), first), {}};
  if (const AttentionPart* part = part_of(Role::projections); part && first < global_positions(*part))
    queries.global_q =
        turned(split_heads(project_global(*part, GlobalProjection::query, source), options_.heads), first);
  return queries;
}

MultiHeadAttention::KeyValues MultiHeadAttention::key_values_of(const Variable& key_source,
                                                                const Variable& value_source, int64_t first) const {
  const int64_t G = options_.kv_heads;
  KeyValues memory = {turned(split_heads(key.forward(key_source), G), first),
                      split_heads(value.forward(value_source), G)};
  if (const AttentionPart* part = part_of(Role::projections); part && first < global_positions(*part)) {
    memory.global_k = turned(split_heads(project_global(*part, GlobalProjection::key, key_source), G), first);
    memory.global_v = split_heads(project_global(*part, GlobalProjection::value, value_source), G);
  }
  return memory;
}

std::pair<MultiHeadAttention::Queries, MultiHeadAttention::KeyValues> MultiHeadAttention::of_self(
    const Variable& x, int64_t first) const {
  if (!options_.packed) return {queries_of(x, first), key_values_of(x, x, first)};
  const Variable all = query_key_value.forward(x);
  const int64_t H = options_.heads, G = options_.kv_heads, D = options_.width / H;
  const auto heads = [&](int64_t begin, int64_t count) {
    return split_heads(slice(all, 2, begin * D, (begin + count) * D), count);
  };
  return {{turned(heads(0, H), first), {}}, {turned(heads(H, G), first), heads(H + G, G)}};
}

// ---- Calls ----

AttentionVariableResult MultiHeadAttention::by_words(const Queries& queries, const KeyValues& memory,
                                                     const Call& call, Pass& pass) const {
  AttentionOptions options = sentence_;
  options.mask = options.mask & call.mask;
  options.single_queries = call.single;
  for (const AttentionPart& part : parts_)
    if (part.word().add_at)
      part.word().add_at(options, part,
                         {.q = queries.q,
                          .key_lengths = as_tensor_of_lengths(memory),
                          .position = call.at_first ? std::optional(call.first) : std::nullopt});
  if (const Dropout d = pass.dropout(options_.dropout); d.rate > 0)
    options.reweigh.push_back(weight_dropout({.rate = d.rate, .seed = d.seed, .stream = d.stream}));
  const auto attend = [&](const Variable& q, const Variable& k, const Variable& v) {
    return pass.log ? attention_with_weights(q, k, v, options)
                    : AttentionVariableResult{attention(q, k, v, options), {}, {}};
  };
  if (!queries.global_q.defined()) return attend(queries.q, memory.k, memory.v);

  // Global rows and the others by themselves: each call leaves zeros where it sees nothing.
  const MaskPtr rows =
      global_rows(*part_of(Role::projections), {.B = queries.q.dim(0), .T = queries.q.dim(2), .S = memory.k.dim(2)},
                  call.first);
  const MaskPtr all = options.mask;
  options.mask = all & !rows;
  const AttentionVariableResult others = attend(queries.q, memory.k, memory.v);
  options.mask = all & rows;
  const AttentionVariableResult global = attend(queries.global_q, memory.global_k, memory.global_v);
  return {add(others.out, global.out), pass.log ? add(others.weights, global.weights).value() : Tensor(), {}};
}

AttentionVariableResult MultiHeadAttention::multi_token_forward(const Variable& q, const KeyValues& memory,
                                                                const MaskPtr& mask, Pass& pass) const {
  const AttentionPart& part = *part_of(Role::neighbours);
  const MultiTokenOptions options = multi_token_options(part, sentence_.mask & mask);
  if (!pass.log) return {finished_heads(part, multi_token_attention(q, memory.k, memory.v, options)), {}, {}};
  const MultiTokenResult result = multi_token_attention_with_weights(q, memory.k, memory.v, options);
  return {finished_heads(part, result.out), result.weights, {}};
}

Variable MultiHeadAttention::finish(const Queries& queries, const KeyValues& memory, const Call& call,
                                    Pass& pass) const {
  const AttentionVariableResult result = part_of(Role::neighbours)
                                             ? multi_token_forward(queries.q, memory, call.mask, pass)
                                             : by_words(queries, memory, call, pass);
  if (pass.log) pass.log->entries.push_back({options_.name, result.weights});
  return out.forward(join_heads(result.out));
}

Variable MultiHeadAttention::forward(const Variable& x, const MaskPtr& mask, Pass& pass) const {
  const auto [queries, memory] = of_self(x, 0);
  return finish(queries, memory, {.mask = mask}, pass);
}

Variable MultiHeadAttention::forward(const Variable& query_source, const Variable& key_source,
                                     const Variable& value_source, const MaskPtr& mask, Pass& pass) const {
  return attend(query_source, project(key_source, value_source), mask, pass);
}

MultiHeadAttention::KeyValues MultiHeadAttention::project(const Variable& key_source, const Variable& value_source,
                                                          const Tensor& lengths) const {
  require(!options_.packed, "MultiHeadAttention", "packed projections have one source: forward(x, mask, pass)");
  KeyValues memory = key_values_of(key_source, value_source, 0);
  memory.lengths = lengths;
  return memory;
}

Variable MultiHeadAttention::attend(const Variable& query_source, const KeyValues& memory, const MaskPtr& mask,
                                    Pass& pass) const {
  return finish(queries_of(query_source, 0), memory, {.mask = mask}, pass);
}

Variable MultiHeadAttention::cross_attend_step(const Variable& query_source, const KeyValues& memory,
                                               const MaskPtr& mask, int64_t position, Pass& pass) const {
  return finish(queries_of(query_source, position), memory,
                {.mask = mask, .first = position, .at_first = true, .single = true}, pass);
}

Variable MultiHeadAttention::step(const Variable& x, AttentionCache& cache, Pass& pass) const {
  const int64_t position = cache.length();
  auto [queries, memory] = of_self(x, position);
  if (const AttentionPart* part = part_of(Role::neighbours)) {
    if (!cache.multi_token) cache.multi_token.emplace(multi_token_options(*part, causal() & sentence_.mask));
    const Tensor y = cache.multi_token->attend(queries.q.value(), memory.k.value(), memory.v.value());
    return out.forward(join_heads(finished_heads(*part, y)));
  }
  cache.keys.append(memory.k.value(), memory.v.value());
  KeyValues past = {cache.keys.keys(), cache.keys.values()};
  if (memory.global_k.defined()) {
    cache.global_keys.append(memory.global_k.value(), memory.global_v.value());
    past.global_k = cache.global_keys.keys();
    past.global_v = cache.global_keys.values();
  }
  return finish(queries, past, {.first = position, .single = true}, pass);
}

// ---- Parameters ----

void MultiHeadAttention::visit(const std::string& prefix, const ParameterVisitor& visitor) {
  if (options_.packed) {
    query_key_value.visit(join_name(prefix, "query_key_value"), visitor);
  } else {
    query.visit(join_name(prefix, "query"), visitor);
    key.visit(join_name(prefix, "key"), visitor);
    value.visit(join_name(prefix, "value"), visitor);
  }
  out.visit(join_name(prefix, "out"), visitor);
  for (AttentionPart& part : parts_) part.visit(prefix, visitor);
}

void MultiHeadAttention::initialise(const std::string& prefix, uint64_t seed) {
  if (options_.packed) {
    query_key_value.initialise(join_name(prefix, "query_key_value"), seed);
  } else {
    query.initialise(join_name(prefix, "query"), seed);
    key.initialise(join_name(prefix, "key"), seed);
    value.initialise(join_name(prefix, "value"), seed);
  }
  out.initialise(join_name(prefix, "out"), seed);
  for (AttentionPart& part : parts_) part.initialise(prefix, seed);
}

}  // namespace qkv
