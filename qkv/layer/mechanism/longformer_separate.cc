#include "qkv/layer/mechanism/longformer_separate.h"

#include "qkv/attention/mask/padding.h"
#include "qkv/layer/attention_cache.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/attention_projection.h"
#include "qkv/layer/initialise.h"
#include "qkv/layer/mechanism/global_tokens.h"
#include "qkv/layer/mechanism/mask.h"
#include "qkv/layer/mechanism/mechanism_of.h"
#include "qkv/layer/mechanism/optional.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/linear.h"

namespace qkv {
namespace {

class LongformerSeparateMechanism final : public MechanismOf<LongformerSeparate>, public ProjectsGlobals {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "longformer-separate",
            .help =
                "longformer with separate query, key and value projections for the global positions "
                "(section 3.1)",
            .role = Role::global_projections,
            .excludes = {Role::global_projections, Role::multi_token},
            .in_cross = false};
  }
  Fields fields() const override {
    const std::vector<Argument> of_longformer = mechanism_of(Longformer{})->arguments();
    const auto field = [&](size_t i, int64_t LongformerSeparate::*member) -> Field {
      const Argument& argument = of_longformer[i];
      return {argument.name, member, argument.minimum, argument.maximum, /*required=*/true};
    };
    return {field(0, &LongformerSeparate::radius), field(1, &LongformerSeparate::globals)};
  }
  Parameters parameters(const AttentionSize& size) const override {
    const Axis C(size.d_model, "C");
    const auto width = [&](int64_t n, const char* letter = "") { return n == C.size ? C : Axis(n, letter); };
    const Axis Q = width(size.head_width * size.heads, "Q"), K = width(size.head_width * size.kv_heads, "K");
    Parameters parameters = {{"query.weight", Parameter::matrix(Q, width(size.query_width), fan_in_uniform)},
                             {"key.weight", Parameter::matrix(K, width(size.key_width), fan_in_uniform)},
                             {"value.weight", Parameter::matrix(K, width(size.value_width), fan_in_uniform)}};
    if (size.bias)
      for (const auto& [name, axis] :
           {std::pair("query.bias", Q), std::pair("key.bias", K), std::pair("value.bias", K)})
        parameters.emplace_back(name, Parameter({axis}));
    return parameters;
  }
  void add_to(AttentionOptions& options, const AttentionPart& part) const override {
    mechanism_of(Longformer{value.radius, value.globals})->add_to(options, part);
  }
  void add_to_call(AttentionOptions& options, const AttentionPart& part,
                   const AttentionCallContext& context) const override {
    mechanism_of(Longformer{value.radius, value.globals})->add_to_call(options, part, context);
  }

  bool has_globals(int64_t first_position, const Pass& pass) const override {
    return first_position < value.globals || global_tokens_of(pass).defined();
  }
  AttentionVariableResult attend(const AttentionPart& part, const SourcesAndHeads& x, AttentionOptions options,
                                 const Pass& pass) const override {
    const AttentionProjection& to = *x.projection;
    const Variable q = to.query_heads(project(part, query_weight, x.query_source), x.first_position);
    Variable k = to.key_heads(project(part, key_weight, x.key_source), x.first_position);
    Variable v = to.value_heads(project(part, value_weight, x.value_source));
    if (x.cache) {
      auto& past = x.cache->of<KeyValueCache>(*this);
      past.append(k.value(), v.value());
      k = past.keys(), v = past.values();
    }
    // One call for the global rows and one for the others: the output is zero in rows where no key is visible.
    const MaskPtr rows =
        global_rows(global_tokens_of(pass), {.B = q.dim(0), .T = q.dim(2), .S = k.dim(2)}, x.first_position);
    const MaskPtr all = options.mask;
    const auto attend = [&](const Variable& a, const Variable& b, const Variable& c) -> AttentionVariableResult {
      if (x.with_weights) return attention_with_weights(a, b, c, options);
      return {attention(a, b, c, options), {}, {}};
    };
    options.mask = all & !rows;
    const AttentionVariableResult others = attend(x.q, x.k, x.v);
    options.mask = all & rows;
    const AttentionVariableResult global = attend(q, k, v);
    return {
        add(others.out, global.out), x.with_weights ? add(others.weights, global.weights).value() : Tensor(), {}};
  }

 private:
  enum : size_t { query_weight, key_weight, value_weight };  // the first parameters; their biases follow
  Variable project(const AttentionPart& part, size_t weight, const Variable& source) const {
    return linear(source, part.weight(weight), part.size().bias ? part.parameter(weight + 3) : Variable());
  }
  // All keys are visible to the queries of global positions and tokens, none to the others. Query 0 has position `first`.
  MaskPtr global_rows(const Tensor& tokens, const AttentionShape& shape, int64_t first) const {
    Tensor lengths = Tensor::zeros({shape.B, shape.T}, DType::i32);
    for (int64_t b = 0; b < shape.B; ++b)
      for (int64_t i = 0; i < shape.T; ++i)
        if (first + i < value.globals || (tokens.defined() && tokens.at<int32_t>({b, i}) != 0))
          lengths.data<int32_t>()[b * shape.T + i] = static_cast<int32_t>(shape.S);
    return padding(lengths);
  }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const LongformerSeparate& x) {
  return std::make_shared<LongformerSeparateMechanism>(x);
}

}  // namespace qkv
