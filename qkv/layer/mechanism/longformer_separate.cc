#include "qkv/layer/mechanism/longformer_separate.h"

#include "qkv/layer/attention_part.h"
#include "qkv/layer/initialise.h"
#include "qkv/layer/mechanism/mask.h"
#include "qkv/layer/mechanism/mechanism_of.h"
#include "qkv/op/linear.h"

namespace qkv {
namespace {

class LongformerSeparateMechanism final : public MechanismOf<LongformerSeparate> {
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

  std::optional<int64_t> global_positions() const override { return value.globals; }
  Variable project_global(const AttentionPart& part, GlobalProjection which,
                          const Variable& source) const override {
    const auto i = static_cast<size_t>(which);
    return linear(source, part.weight(i), part.size().bias ? part.parameter(i + 3) : Variable());
  }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const LongformerSeparate& x) {
  return std::make_shared<LongformerSeparateMechanism>(x);
}

}  // namespace qkv
