#include "qkv/layer/mechanism/multi_token.h"

#include <fmt/format.h>

#include "qkv/layer/mechanism/table.h"

namespace qkv {
namespace {

using Numbers = AttentionMechanism::Numbers;
using Role = AttentionMechanism::Role;

enum { taps, mix, norm, gate, gate_bias };  // the parameters

int64_t group_of(const Numbers& n, const AttentionSize& size) {
  return whole(n, 2) == 0 ? size.heads : whole(n, 2);
}

// Every score is its own, and nobody else's.
void start_as_own_score(Variable& parameter, uint64_t, const std::string&) {
  const int64_t heads = parameter.dim(0), queries = parameter.dim(2), keys = parameter.dim(3);
  Tensor& x = parameter.mutable_value();
  x.fill(0.0f);
  for (int64_t h = 0; h < heads; ++h) x.data<float>()[(h * queries + queries - 1) * keys + (keys - 1) / 2] = 1.0f;
}

void start_as_own_head(Variable& parameter, uint64_t, const std::string&) {
  const int64_t groups = parameter.dim(0), heads = parameter.dim(1);
  Tensor& x = parameter.mutable_value();
  x.fill(0.0f);
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t h = 0; h < heads; ++h) x.data<float>()[(g * heads + h) * heads + h] = 1.0f;
}

std::vector<AttentionMechanism::Parameter> of_multi_token(const Numbers& n, const AttentionSize& size) {
  const int64_t H = size.heads, D = size.head_width(), heads = group_of(n, size);
  return {{"convolution", {H, 1, whole(n, 0), whole(n, 1)}, "H queries keys", start_as_own_score},
          {"mix", {H / heads, heads, heads}, "H heads", start_as_own_head},
          {"norm", {D}, "D", start_with_ones},
          {"gate.weight", {1, D}, "D"},
          {"gate.bias", {1}, "1"}};
}

std::string error_of(const Numbers& n, const AttentionSize& size) {
  if (whole(n, 1) % 2 == 0) return fmt::format("keys must be odd, as many on both sides, got {}", whole(n, 1));
  if (size.heads % group_of(n, size) != 0)
    return fmt::format("groups of {} heads do not divide {} heads", group_of(n, size), size.heads);
  if (size.dropout) return "it has no dropout of weights: set that rate to 0";
  return "";
}

}  // namespace

MultiTokenOptions multi_token_options(const AttentionPart& part, const MaskPtr& mask) {
  return {.pre_conv = part.parameter(taps), .post_head = part.parameter(mix), .mask = mask};
}

Variable finished_heads(const AttentionPart& part, const Variable& out) {
  return gate_heads(normalize_heads(out, part.parameter(norm)), part.parameter(gate), part.parameter(gate_bias));
}

AttentionMechanisms multi_token_mechanisms() {
  return {{.name = "multi-token",
           .help = "scores of so many neighbouring queries and keys are mixed, and those of so many heads "
                   "(0: all; Golovneva et al., 2025)",
           .role = Role::neighbours,
           .excludes = {Role::score, Role::modify, Role::normalize, Role::distance, Role::projections},
           .in_cross = false,
           .numbers = {{"queries", 1, 32, 6}, {"keys", 1, 63, 11}, {"heads", 0, 1024, 0}},
           .parameters = of_multi_token,
           .error = error_of}};
}

}  // namespace qkv
