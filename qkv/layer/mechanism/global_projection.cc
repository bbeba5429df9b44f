#include "qkv/layer/mechanism/global_projection.h"

#include "qkv/attention/mask/padding.h"
#include "qkv/layer/initialise.h"
#include "qkv/layer/mechanism/table.h"
#include "qkv/op/linear.h"

namespace qkv {
namespace {

using Role = AttentionMechanism::Role;

AttentionMechanism::Parameters parameters_of_projections(const AttentionMechanism::Numbers&,
                                                         const AttentionSize& size) {
  const Axis C(size.d_model, "C");
  const auto width = [&](int64_t n, const char* letter = "") { return n == C.size ? C : Axis(n, letter); };
  const Axis Q = width(size.head_width() * size.heads, "Q"), K = width(size.head_width() * size.kv_heads, "K");
  AttentionMechanism::Parameters parameters = {
      {"query.weight", Parameter({Q, width(size.query_width)}, fan_in_uniform)},
      {"key.weight", Parameter({K, width(size.key_width)}, fan_in_uniform)},
      {"value.weight", Parameter({K, width(size.value_width)}, fan_in_uniform)}};
  if (size.bias)
    for (const auto& [name, axis] :
         {std::pair("query.bias", Q), std::pair("key.bias", K), std::pair("value.bias", K)})
      parameters.emplace_back(name, Parameter({axis}));
  return parameters;
}

}  // namespace

Variable project_global(const AttentionPart& part, GlobalProjection which, const Variable& source) {
  const auto i = static_cast<size_t>(which);
  return linear(source, part.parameter(i), part.size().bias ? part.parameter(i + 3) : Variable());
}

int64_t global_positions(const AttentionPart& part) { return integer(part.numbers(), 1); }

MaskPtr global_rows(const AttentionPart& part, const AttentionShape& shape, int64_t first) {
  Tensor lengths = Tensor::zeros({shape.B, shape.T}, DType::i32);
  for (int64_t b = 0; b < shape.B; ++b)
    for (int64_t i = 0; i < shape.T && first + i < global_positions(part); ++i)
      lengths.data<int32_t>()[b * shape.T + i] = static_cast<int32_t>(shape.S);
  return padding(lengths);
}

AttentionMechanisms global_projection_mechanisms() {
  AttentionMechanism mechanism = longformer_mechanism();
  mechanism.name = "longformer-separate";
  mechanism.help =
      "longformer with separate query, key and value projections for the global positions (section 3.1)";
  mechanism.role = Role::global_projections;
  mechanism.excludes = {Role::global_projections, Role::multi_token};
  mechanism.parameters = parameters_of_projections;
  return {mechanism};
}

}  // namespace qkv
