#include "qkv/layer/mechanism/global_projection.h"

#include "qkv/attention/mask/padding.h"
#include "qkv/layer/mechanism/table.h"
#include "qkv/op/linear.h"

namespace qkv {
namespace {

using Role = AttentionMechanism::Role;

std::vector<AttentionMechanism::Parameter> parameters_of_projections(const AttentionMechanism::Numbers&,
                                                                     const AttentionSize& size) {
  const int64_t kv_width = size.head_width() * size.kv_heads;
  std::vector<AttentionMechanism::Parameter> parameters = {
      {"query.weight", {size.d_model, size.d_model}, "C^2", fan_in_uniform},
      {"key.weight", {kv_width, size.key_width}, "C K", fan_in_uniform},
      {"value.weight", {kv_width, size.value_width}, "C K", fan_in_uniform}};
  if (size.bias)
    for (const auto& [name, width, count] :
         {std::tuple{"query.bias", size.d_model, "C"}, {"key.bias", kv_width, "K"}, {"value.bias", kv_width, "K"}})
      parameters.push_back({name, {width}, count});
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
