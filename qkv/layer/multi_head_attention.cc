#include "qkv/layer/multi_head_attention.h"

#include "qkv/attention/reweigh/dropout.h"
#include "qkv/base/error.h"
#include "qkv/op/shape.h"

namespace qkv {
namespace {

MultiHeadAttentionOptions completed(MultiHeadAttentionOptions o) {
  if (o.kv_heads == 0) o.kv_heads = o.heads;
  if (o.key_width == 0) o.key_width = o.width;
  if (o.value_width == 0) o.value_width = o.width;
  require(o.heads > 0 && o.width > 0 && o.width % o.heads == 0, "MultiHeadAttention",
          "{} heads must divide the width C {}", o.heads, o.width);
  require(o.kv_heads > 0 && o.heads % o.kv_heads == 0, "MultiHeadAttention",
          "{} key/value heads must divide {} heads", o.kv_heads, o.heads);
  return o;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options)
    : query(0, 0), key(0, 0), value(0, 0), out(0, 0), options_(completed(options)) {
  const int64_t head_width = options_.width / options_.heads, kv_width = head_width * options_.kv_heads;
  query = Linear(options_.width, options_.width, options_.bias);
  key = Linear(options_.key_width, kv_width, options_.bias);
  value = Linear(options_.value_width, kv_width, options_.bias);
  out = Linear(options_.width, options_.width, options_.bias);
}

MultiHeadAttention::KeyValues MultiHeadAttention::project(const Variable& key_source,
                                                          const Variable& value_source) const {
  return {split_heads(key.forward(key_source), options_.kv_heads),
          split_heads(value.forward(value_source), options_.kv_heads)};
}

Variable MultiHeadAttention::attend(const Variable& query_source, const KeyValues& memory, const MaskPtr& mask,
                                    Pass& pass) const {
  return attend(query_source, memory, AttentionOptions{.mask = mask}, pass);
}

Variable MultiHeadAttention::attend_singly(const Variable& query_source, const KeyValues& memory,
                                           const MaskPtr& mask, Pass& pass) const {
  return attend(query_source, memory, AttentionOptions{.mask = mask, .single_queries = true}, pass);
}

Variable MultiHeadAttention::attend(const Variable& query_source, const KeyValues& memory, AttentionOptions options,
                                    Pass& pass) const {
  if (const Dropout d = pass.dropout(options_.dropout); d.rate > 0)
    options.reweigh.push_back(weight_dropout({.rate = d.rate, .seed = d.seed, .stream = d.stream}));
  const Variable q = split_heads(query.forward(query_source), options_.heads);
  if (!pass.log) return out.forward(join_heads(attention(q, memory.k, memory.v, options)));
  AttentionVariables result = attention_with_weights(q, memory.k, memory.v, options);
  pass.log->entries.push_back({options_.name, result.weights});
  return out.forward(join_heads(result.out));
}

Variable MultiHeadAttention::forward(const Variable& query_source, const Variable& key_source,
                                     const Variable& value_source, const MaskPtr& mask, Pass& pass) const {
  return attend(query_source, project(key_source, value_source), mask, pass);
}

Variable MultiHeadAttention::step(const Variable& x, KeyValueCache& cache, Pass& pass) const {
  const KeyValues now = project(x, x);
  cache.append(now.k.value(), now.v.value());
  return attend_singly(x, {cache.keys(), cache.values()}, {}, pass);
}

void MultiHeadAttention::visit(const std::string& prefix, const ParameterVisitor& visitor) {
  query.visit(join_name(prefix, "query"), visitor);
  key.visit(join_name(prefix, "key"), visitor);
  value.visit(join_name(prefix, "value"), visitor);
  out.visit(join_name(prefix, "out"), visitor);
}

void MultiHeadAttention::initialise(const std::string& prefix, uint64_t seed) {
  query.initialise(join_name(prefix, "query"), seed);
  key.initialise(join_name(prefix, "key"), seed);
  value.initialise(join_name(prefix, "value"), seed);
  out.initialise(join_name(prefix, "out"), seed);
}

}  // namespace qkv
