#include "qkv/layer/multi_head_attention.h"

#include "qkv/base/error.h"
#include "qkv/op/shape.h"

namespace qkv {
namespace {

Linear output_of(const MultiHeadAttentionOptions& o) {
  const Axis C(o.d_model, "C");
  const int64_t width = o.heads * o.head_width;
  return Linear(width == C.size ? C : Axis(width, "Q"), C, o.bias.out);
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options)
    : projection(options.completed()), out(output_of(projection.options())), core_(projection.options()) {}

void MultiHeadAttention::share_parameters_of(const MultiHeadAttention& earlier) {
  core_.share_parameters_of(earlier.core_);
}

Precision MultiHeadAttention::products() const { return out.weight.weight().precision(); }

Variable MultiHeadAttention::joined(const Variable& heads) const { return out.forward(join_heads(heads)); }

Variable MultiHeadAttention::forward(const Variable& x, const MaskPtr& mask, Pass& pass) const {
  const Projected p = projection.self(x);
  const auto [k, v] = projection.key_value_heads(p, 0, pass.part);
  const Variable q = projection.query_heads(p, x.dim(0), x.dim(1), 0, pass.part);
  const AttentionCore::Sources sources = {&projection, x, x, x};
  return joined(
      core_.attend({.q = q, .k = k, .v = v, .products = products()}, {.mask = mask, .sources = &sources}, pass));
}

Variable MultiHeadAttention::forward(const Variable& query_source, const Variable& key_source,
                                     const Variable& value_source, const MaskPtr& mask, Pass& pass) const {
  require(!projection.options().fused_qkv, "MultiHeadAttention",
          "fused projections have one source: forward(x, mask, pass)");
  const auto [k, v] = projection.key_value_heads(projection.keys_values(key_source, value_source), 0);
  const Variable q =
      projection.query_heads(projection.queries(query_source), query_source.dim(0), query_source.dim(1), 0);
  const AttentionCore::Sources sources = {&projection, query_source, key_source, value_source};
  return joined(
      core_.attend({.q = q, .k = k, .v = v, .products = products()}, {.mask = mask, .sources = &sources}, pass));
}

void MultiHeadAttention::check_memory_fits() const {
  require(!core_.projects_globals(), "MultiHeadAttention",
          "a memory has no projections of global positions: forward(query, key, value, mask, pass)");
}

MultiHeadAttention::KeyValues MultiHeadAttention::project(const Variable& key_source, const Variable& value_source,
                                                          const Tensor& lengths) const {
  require(!projection.options().fused_qkv, "MultiHeadAttention",
          "fused projections have one source: forward(x, mask, pass)");
  check_memory_fits();
  const auto [k, v] = projection.key_value_heads(projection.keys_values(key_source, value_source), 0);
  return {k, v, lengths};
}

Variable MultiHeadAttention::attend(const Variable& query_source, const KeyValues& memory, const MaskPtr& mask,
                                    Pass& pass) const {
  check_memory_fits();
  const Variable q =
      projection.query_heads(projection.queries(query_source), query_source.dim(0), query_source.dim(1), 0);
  return joined(
      core_.attend({.q = q, .k = memory.k, .v = memory.v, .key_lengths = memory.lengths, .products = products()},
                   {.mask = mask}, pass));
}

void MultiHeadAttention::list(ModuleContents& contents) const {
  projection.list_linear(contents);
  contents.child("out", out);
  projection.list_norms(contents);
  core_.list(contents);
}

}  // namespace qkv
