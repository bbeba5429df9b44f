// Luong's local attention (attention/local.h): a query looks at the keys around a place in the other sentence.

#include "qkv/attention/local.h"
#include "qkv/attention/mask/around.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/mechanism/table.h"

namespace qkv {
namespace {

using Numbers = AttentionMechanism::Numbers;
using Role = AttentionMechanism::Role;

void add_local_m(AttentionOptions& options, const AttentionPart& part, const AttentionCallContext& place) {
  const int64_t reach = whole(part.numbers(), 0);
  if (!place.position) {
    options.mask = options.mask & local_m(reach);
    return;
  }
  const Tensor here = Tensor::full({place.q.dim(0), place.q.dim(2)}, static_cast<float>(*place.position));
  options.mask = options.mask & around(here, static_cast<double>(reach));
}

std::vector<AttentionMechanism::Parameter> of_local_p(const Numbers&, const AttentionSize& size) {
  const int64_t D = size.head_width();
  return {{"query", {D, D}, "D^2", xavier_uniform}, {"score", {D}, "D", start_as_score}};
}

void add_local_p(AttentionOptions& options, const AttentionPart& part, const AttentionCallContext& place) {
  const LocalP local =
      local_p(place.q, part.parameter(0), part.parameter(1), place.key_lengths, whole(part.numbers(), 0));
  options.mask = options.mask & local.mask;
  options.reweigh.push_back(local.reweigh);
}

}  // namespace

AttentionMechanisms place_mechanisms() {
  return {{.name = "local-m",
           .help = "the keys around the query's own position (Luong et al., 2015)",
           .role = Role::place,
           .excludes = {Role::place},
           .in_self = false,
           .numbers = {{"reach", 1, max_positions, 10}},
           .add_at = add_local_m},
          {.name = "local-p",
           .help = "the keys around a place that the query predicts (Luong et al., 2015)",
           .role = Role::place,
           .excludes = {Role::place},
           .in_self = false,
           .numbers = {{"reach", 1, max_positions, 10}},
           .parameters = of_local_p,
           .add_at = add_local_p}};
}

}  // namespace qkv
