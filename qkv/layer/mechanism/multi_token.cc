#include "qkv/layer/mechanism/multi_token.h"

#include <fmt/format.h>

#include "qkv/layer/mechanism/table.h"

namespace qkv {
namespace {

using Numbers = AttentionMechanism::Numbers;
using Role = AttentionMechanism::Role;

enum { convolution, mix, norm, gate, gate_bias };  // the parameters

int64_t heads_per_group(const Numbers& n, const AttentionSize& size) {
  return integer(n, 2) == 0 ? size.heads : integer(n, 2);
}

void initialise_identity_convolution(Variable& parameter, uint64_t, const std::string&) {
  const int64_t heads = parameter.dim(0), queries = parameter.dim(2), keys = parameter.dim(3);
  Tensor& x = parameter.mutable_value();
  x.fill(0.0f);
  for (int64_t h = 0; h < heads; ++h) x.data<float>()[(h * queries + queries - 1) * keys + (keys - 1) / 2] = 1.0f;
}

void initialise_identity_mix(Variable& parameter, uint64_t, const std::string&) {
  const int64_t groups = parameter.dim(0), heads = parameter.dim(1);
  Tensor& x = parameter.mutable_value();
  x.fill(0.0f);
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t h = 0; h < heads; ++h) x.data<float>()[(g * heads + h) * heads + h] = 1.0f;
}

AttentionMechanism::Parameters parameters_of_multi_token(const Numbers& n, const AttentionSize& size) {
  const int64_t H = size.heads, heads = heads_per_group(n, size);
  const Axis D(size.head_width(), "D");
  return {{"convolution",
           Parameter({H, 1, integer(n, 0), integer(n, 1)}, "H keys queries", initialise_identity_convolution)},
          {"mix", Parameter({H / heads, heads, heads}, "H heads", initialise_identity_mix)},
          {"norm", Parameter({D}, {}, 1.0f)},
          {"gate.weight", Parameter({1, D.size}, "D")},
          {"gate.bias", Parameter({Axis(1)})}};
}

std::string error_of(const Numbers& n, const AttentionSize& size) {
  if (integer(n, 1) % 2 == 0) return fmt::format("keys must be odd, got {}", integer(n, 1));
  if (size.heads % heads_per_group(n, size) != 0)
    return fmt::format("heads must divide the {} heads of the layer, got {}", size.heads, heads_per_group(n, size));
  if (size.dropout) return "it has no dropout of attention weights: attention-dropout must be 0";
  return "";
}

double flops_of_pair(const Numbers& n, const AttentionSize& size) {
  return 2 * n[0] * n[1] + 2 * static_cast<double>(heads_per_group(n, size));
}

}  // namespace

MultiTokenOptions multi_token_options(const AttentionPart& part, const MaskPtr& mask) {
  return {.pre_conv = part.parameter(convolution), .post_head = part.parameter(mix), .mask = mask};
}

Variable norm_and_gate(const AttentionPart& part, const Variable& out) {
  return gate_heads(normalize_heads(out, part.parameter(norm)), part.parameter(gate), part.parameter(gate_bias));
}

AttentionMechanisms multi_token_mechanisms() {
  return {{.name = "multi-token",
           .help = "multi-token attention: a convolution of the scores over neighboring queries and keys, and a "
                   "mixing of the weights of HEADS heads, 0 for all (Golovneva et al., 2025)",
           .role = Role::multi_token,
           .excludes = {Role::score, Role::modify, Role::normalize, Role::position_bias, Role::global_projections},
           .in_cross = false,
           .numbers = {{"queries", 1, 32, 6}, {"keys", 1, 63, 11}, {"heads", 0, 1024, 0}},
           .parameters = parameters_of_multi_token,
           .error = error_of,
           .pair_flops = flops_of_pair}};
}

}  // namespace qkv
