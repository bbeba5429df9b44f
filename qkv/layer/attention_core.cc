#include "qkv/layer/attention_core.h"

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/reweigh/dropout.h"
#include "qkv/base/error.h"
#include "qkv/layer/head_ablation.h"
#include "qkv/op/convert.h"

namespace qkv {
namespace {

Tensor lengths_of(const AttentionCore::Heads& heads) {
  if (heads.key_lengths.defined()) return heads.key_lengths;
  const auto S = static_cast<int32_t>(heads.k.dim(2));
  return Tensor::from(std::vector<int32_t>(static_cast<size_t>(heads.k.dim(0)), S), {heads.k.dim(0)});
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

// Of keys and values as they are stored.
AttentionCore::Heads with_numbers(const AttentionCore::Heads& heads, const AttentionCore::Call& call) {
  if (!call.stored) return heads;
  const DType type = heads.q.value().dtype();
  return {heads.q, call.stored->keys().to(type), call.stored->values().to(type), heads.key_lengths, heads.products};
}

}  // namespace

AttentionCore::AttentionCore(const MultiHeadAttentionOptions& o) : source_{o.use, o.layer}, dropout_(o.dropout) {
  for (const AttentionMechanismPtr& mechanism : o.variant.mechanisms()) parts_.emplace_back(mechanism, o.size());
}

void AttentionCore::share_parameters_of(const AttentionCore& earlier) {
  for (AttentionPart& part : parts_)
    for (const AttentionPart& other : earlier.parts_) part.share_parameters_of(other);
}

const AttentionOptions& AttentionCore::call_options() const {
  return call_options_->get([&] { return attention_options(parts_); });
}

AttentionLog* AttentionCore::log_of(const Pass& pass) const {
  return pass.log && pass.log->records(source_) ? pass.log : nullptr;
}

AttentionOptions AttentionCore::options_of(const Heads& heads, const Call& call, Pass& pass) const {
  AttentionOptions options = call_options();
  options.single_queries = call.single_queries;
  if (!parts_.empty()) {
    const AttentionCallContext context = {
        .q = heads.q,
        .key_lengths = lengths_of(heads),
        .position = call.same_position ? std::optional(call.first_position) : std::nullopt,
        .pass = pass};
    for (const AttentionPart& part : parts_) part.mechanism().add_to_call(options, part, context);
  }
  options.mask = options.mask & call.mask;
  if (const Dropout d = pass.dropout(dropout_); d.rate > 0)
    options.reweigh.push_back(weight_dropout({.rate = d.rate, .seed = d.seed, .stream = d.stream}));
  return options;
}

AttentionVariableResult AttentionCore::attend_heads(const Heads& heads, const Call& call, Pass& pass) const {
  const AttentionOptions options = options_of(heads, call, pass);
  const AttentionLog* log = log_of(pass);
  const AttentionPart* part = part_with<ProjectsGlobals>();
  const bool has_globals = part && part->as<ProjectsGlobals>()->has_globals(call.first_position, pass);
  require<UsageError>(
      pass.part.is_whole() || (!has_globals && !log), "attention",
      "projections of global positions, and the recording of weights, need whole sequences: processes "
      "that share a sequence have parts");
  if (call.stored && !log && !has_globals) return {attention(heads.q.value(), *call.stored, options), {}, {}};
  const Heads x = with_numbers(heads, call);
  if (has_globals) {
    const Sources& from = *call.sources;
    return part->as<ProjectsGlobals>()->attend(*part,
                                               {.query_source = from.query,
                                                .key_source = from.key,
                                                .value_source = from.value,
                                                .q = x.q,
                                                .k = x.k,
                                                .v = x.v,
                                                .projection = from.projection,
                                                .first_position = call.first_position,
                                                .cache = call.cache,
                                                .with_weights = log != nullptr},
                                               options, pass);
  }
  if (!log) {
    const bool rounds = x.products == Precision::bf16 && recording({x.q, x.k, x.v});
    const auto read = [&](const Variable& of) { return rounds ? convert(of, DType::bf16) : of; };
    return {pass.part.attend(read(x.q), read(x.k), read(x.v), options), {}, {}};
  }
  if (!log->mean_over_heads) return attention_with_weights(x.q, x.k, x.v, options);
  require(!recording({x.q, x.k, x.v}), "AttentionLog",
          "mean_over_heads is not available while gradients are recorded");
  const AttentionResult result = attention_with_mean_weights(x.q.value(), x.k.value(), x.v.value(), options);
  return {result.out, result.weights, {}};
}

AttentionVariableResult AttentionCore::attend_instead(const AttentionPart& part, const Heads& heads,
                                                      const Call& call, Pass& pass) const {
  require<UsageError>(pass.part.is_whole(), "attention",
                      "{} needs whole sequences: processes that share a sequence have parts",
                      part.mechanism().facts().name);
  const Heads x = with_numbers(heads, call);
  return part.as<ReplacesAttention>()->attend(
      part,
      {.q = x.q, .k = x.k, .v = x.v, .mask = call_options().mask & call.mask, .dropout = pass.dropout(dropout_)},
      log_of(pass) != nullptr);
}

Variable AttentionCore::attend(const Heads& heads, const Call& call, Pass& pass) const {
  AttentionLog* log = log_of(pass);
  const AttentionPart* part = part_with<ReplacesAttention>();
  const AttentionVariableResult result =
      part ? attend_instead(*part, heads, call, pass) : attend_heads(heads, call, pass);
  if (log) {
    const bool average = log->mean_over_heads && result.weights.rank() == 4;
    log->entries.push_back({source_, average ? mean_over_heads(result.weights) : result.weights});
  }
  return without_ablated(result.out, source_.use, source_.layer);
}

Variable AttentionCore::extend(const Heads& heads, const Sources& sources, AttentionCache& cache,
                               Pass& pass) const {
  require(!pass.input.has_value(), "MultiHeadAttention::extend",
          "an input of the pass (global tokens) is for passes over whole sequences, not for decoding");
  const int64_t position = cache.length(), length = heads.q.dim(2);
  if (const AttentionPart* part = part_with<ReplacesAttention>()) {
    Variable y = part->as<ReplacesAttention>()->extend(
        *part, {.q = heads.q, .k = heads.k, .v = heads.v, .mask = causal() & call_options().mask}, cache);
    cache.advance(length);
    return without_ablated(y, source_.use, source_.layer);
  }
  cache.keys.append(heads.k.value(), heads.v.value());
  cache.advance(length);
  const bool is_one_by_one = length == 1 || (pass.one_by_one && position > 0);
  return attend({.q = heads.q, .k = cache.keys.stored_keys(), .v = cache.keys.stored_values()},
                {.mask = length == 1 ? MaskPtr() : causal(),
                 .first_position = position,
                 .single_queries = is_one_by_one,
                 .sources = &sources,
                 .cache = &cache,
                 .stored = &cache.keys},
                pass);
}

void AttentionCore::list(ModuleContents& contents) const {
  for (const AttentionPart& part : parts_) contents.child(std::string(part.mechanism().facts().name), part);
}

}  // namespace qkv
