#include "qkv/layer/mechanism/multi_token.h"

#include <fmt/format.h>

#include "qkv/attention/multi_token.h"
#include "qkv/attention/multi_token_cache.h"
#include "qkv/layer/attention_cache.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/mechanism/mechanism_of.h"
#include "qkv/layer/mechanism/optional.h"

namespace qkv {
namespace {

enum { convolution, mix, norm, gate, gate_bias };  // the parameters

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

MultiTokenOptions options_of(const AttentionPart& part, const AttentionHeads& heads) {
  const Dropout& d = heads.dropout;
  return {.pre_conv = part.parameter(convolution),
          .post_head = part.parameter(mix),
          .mask = heads.mask,
          .dropout = {.rate = d.rate, .seed = d.seed, .stream = d.stream}};
}

Variable norm_and_gate(const AttentionPart& part, const Variable& out) {
  return gate_heads(normalize_heads(out, part.parameter(norm)), part.parameter(gate), part.parameter(gate_bias));
}

class MultiTokenMechanism final : public MechanismOf<MultiToken>, public ReplacesAttention {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "multi-token",
            .help =
                "multi-token attention: a convolution of the scores over neighboring queries and keys, and a "
                "mixing of the weights of HEADS heads, 0 for all (Golovneva et al., 2025)",
            .role = Role::multi_token,
            .excludes = {Role::score, Role::modify, Role::normalize, Role::position_bias, Role::global_projections},
            .in_cross = false};
  }
  Fields fields() const override {
    return {{"queries", &MultiToken::queries, 1, 32},
            {"keys", &MultiToken::keys, 1, 63},
            {"heads", &MultiToken::heads, 0, 1024}};
  }
  std::string error(const AttentionSize& size) const override {
    if (value.keys % 2 == 0) return fmt::format("keys must be odd, got {}", value.keys);
    if (size.heads % heads_per_group(size) != 0)
      return fmt::format("heads must divide the {} heads of the layer, got {}", size.heads, heads_per_group(size));
    return "";
  }
  Parameters parameters(const AttentionSize& size) const override {
    const int64_t H = size.heads, heads = heads_per_group(size);
    const Axis D(size.head_width, "D");
    return {{"convolution",
             Parameter({H, 1, value.queries, value.keys}, "H keys queries", initialise_identity_convolution)},
            {"mix", Parameter({H / heads, heads, heads}, "H heads", initialise_identity_mix)},
            {"norm", Parameter({D}, {}, 1.0f)},
            {"gate.weight", Parameter({1, D.size}, "D")},
            {"gate.bias", Parameter({Axis(1)})}};
  }
  double pair_flops(const AttentionSize& size) const override {
    return static_cast<double>(2 * value.queries * value.keys + 2 * heads_per_group(size));
  }

  AttentionVariableResult attend(const AttentionPart& part, const AttentionHeads& heads,
                                 bool with_weights) const override {
    const MultiTokenOptions options = options_of(part, heads);
    if (!with_weights)
      return {norm_and_gate(part, multi_token_attention(heads.q, heads.k, heads.v, options)), {}, {}};
    const MultiTokenResult result = multi_token_attention_with_weights(heads.q, heads.k, heads.v, options);
    return {norm_and_gate(part, result.out), result.weights, {}};
  }
  Variable extend(const AttentionPart& part, const AttentionHeads& heads, AttentionCache& cache) const override {
    auto& past = cache.of<MultiTokenCache>(*this, options_of(part, heads));
    return norm_and_gate(part, past.attend(heads.q.value(), heads.k.value(), heads.v.value()));
  }

 private:
  int64_t heads_per_group(const AttentionSize& size) const { return value.heads == 0 ? size.heads : value.heads; }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const MultiToken& x) { return std::make_shared<MultiTokenMechanism>(x); }

}  // namespace qkv
