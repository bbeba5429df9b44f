#include "qkv/layer/context_attention.h"

#include "qkv/attention/cache.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/score/additive.h"
#include "qkv/attention/score/dot.h"
#include "qkv/base/error.h"
#include "qkv/layer/attention_variant_text.h"
#include "qkv/layer/head_ablation.h"
#include "qkv/op/concatenate.h"
#include "qkv/op/shape.h"

namespace qkv {
namespace {

constexpr AttentionLog::Source source = {AttentionUse::cross, 0};

}  // namespace

void ContextAttention::Memory::reorder(std::span<const int64_t> rows) {
  if (keys == values)
    keys = values = gather_rows(values.value(), rows);
  else {
    keys = gather_rows(keys.value(), rows);
    values = gather_rows(values.value(), rows);
  }
  lengths = gather_rows(lengths, rows);
}

ContextAttention::ContextAttention(const ContextAttentionOptions& options) : options_(options) {
  const AttentionVariant& variant = options_.variant;
  const Axis W(options_.width, "C"),
      C(options_.encoder_width, options_.encoder_width == options_.width ? "C" : "E");
  require(W.size > 0 && C.size > 0, "ContextAttention", "width {} and encoder_width {} must be positive", W.size,
          C.size);
  size_ = {.use = AttentionUse::cross,
           .d_model = W.size,
           .head_width = W.size,
           .query_width = W.size,
           .key_width = C.size,
           .value_width = C.size};
  check_variant(variant, size_, "ContextAttention");
  const Additive* const additive_score = variant.get<Additive>();
  const Bilinear* const bilinear_score = variant.get<Bilinear>();
  // For these two scores the layer projects the keys itself, once.
  for (const AttentionMechanismPtr& mechanism : variant.mechanisms())
    if (mechanism->facts().role != AttentionMechanism::Role::score || !(additive_score || bilinear_score))
      parts_.emplace_back(mechanism, size_);
  call_options_ = attention_options(parts_);
  if (additive_score) {
    const int64_t hidden = additive_score->width;
    const Axis D = hidden == 0 || hidden == W.size ? W : Axis(hidden, "width");
    query.emplace(W, D, /*bias=*/false);
    key.emplace(C, D, /*bias=*/false);
    score = score_vector(D);
    call_options_.score = additive(score.variable());
  } else if (bilinear_score) {
    key.emplace(C, W, /*bias=*/false);
    call_options_.score = dot();
  } else {
    require(
        W.size == C.size || !variant.reads_keys(), "ContextAttention",
        "'{}' compares states of one width, got width {} and encoder_width {}; bilinear and additive take any two",
        to_string(variant), W.size, C.size);
  }
}

ContextAttention::Memory ContextAttention::memory(const Variable& encoded,
                                                  const std::vector<int32_t>& lengths) const {
  require(encoded.value().rank() == 3 && encoded.dim(2) == options_.encoder_width &&
              encoded.dim(0) == static_cast<int64_t>(lengths.size()),
          "ContextAttention", "encoded must be (B,S,C) with B {} lengths and C {}, got {}", lengths.size(),
          options_.encoder_width, encoded.shape());
  const Variable values = split_heads(encoded, 1);
  const Variable keys = key ? split_heads(key->forward(encoded), 1) : values;
  return {keys, values, Tensor::from(lengths, {encoded.dim(0)})};
}

ContextAttention::Result ContextAttention::attend(const Variable& states, const Memory& memory,
                                                  const Call& call) const {
  const int64_t B = memory.values.dim(0), W = options_.width, R = states.dim(0);
  require(states.value().rank() == 2 && states.dim(1) == W && B > 0 && R % B == 0, "ContextAttention",
          "states must be (R,W) with W {} and R a multiple of B {}, got {}", W, B, states.shape());
  const Variable s = reshape(states, {B, 1, R / B, W});
  const Variable q = query ? query->forward(s) : s;
  AttentionOptions options = call_options_;
  options.mask = options.mask & padding(memory.lengths);
  options.single_queries = true;  // a row has the same bits for any beam
  for (const AttentionPart& part : parts_)
    part.mechanism().add_to_call(
        options, part, {.q = s, .key_lengths = memory.lengths, .position = call.position, .pass = Pass()});
  AttentionVariableResult result;
  if (call.weights)
    result = attention_with_weights(q, memory.keys, memory.values, options);
  else
    result.out = attention(q, memory.keys, memory.values, options);
  const Variable context = without_ablated(result.out, source.use, source.layer);
  return {reshape(context, {R, options_.encoder_width}), result.weights};
}

void ContextAttention::list(ModuleContents& contents) const {
  if (query) contents.child("query", *query);
  if (key) contents.child("key", *key);
  contents.parameter("score", score);
  for (const AttentionPart& part : parts_) contents.child(std::string(part.mechanism().facts().name), part);
}

bool records_context(const Pass& pass) { return pass.log && pass.log->records(source); }

void record_context(const std::vector<Tensor>& steps, Pass& pass) {
  const Tensor weights = concatenate(std::vector<Variable>(steps.begin(), steps.end()), 2).value();
  pass.log->entries.push_back({source, pass.log->mean_over_heads ? weights.select(1, 0) : weights});
}

}  // namespace qkv
