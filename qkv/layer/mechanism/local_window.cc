// Luong's local attention (attention/local.h): a window around a position in the keys, cross-attention only.

#include "qkv/attention/local.h"
#include "qkv/attention/mask/around.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/initialise.h"
#include "qkv/layer/mechanism/table.h"

namespace qkv {
namespace {

using Numbers = AttentionMechanism::Numbers;
using Role = AttentionMechanism::Role;

void add_local_m(AttentionOptions& options, const AttentionPart& part, const AttentionCallContext& call) {
  const int64_t size = integer(part.numbers(), 0);
  if (!call.position) {
    options.mask = options.mask & local_m(size);
    return;
  }
  const Tensor center = Tensor::full({call.q.dim(0), call.q.dim(2)}, static_cast<float>(*call.position));
  options.mask = options.mask & around(center, static_cast<double>(size));
}

AttentionMechanism::Parameters parameters_of_local_p(const Numbers&, const AttentionSize& size) {
  const Axis D(size.head_width(), "D");
  return {{"query", Parameter({D, D}, fan_in_uniform)}, {"score", score_vector(D)}};
}

void add_local_p(AttentionOptions& options, const AttentionPart& part, const AttentionCallContext& call) {
  const LocalP local =
      local_p(call.q, part.parameter(0), part.parameter(1), call.key_lengths, integer(part.numbers(), 0));
  options.mask = options.mask & local.mask;
  options.reweigh.push_back(local.reweigh);
}

}  // namespace

AttentionMechanisms local_window_mechanisms() {
  return {
      {.name = "local-m",
       .help = "local attention, monotonic: keys within RADIUS positions of the query's own position "
               "(Luong et al., 2015)",
       .role = Role::local_window,
       .excludes = {Role::local_window},
       .in_self = false,
       .numbers = {{"radius", 1, max_distance, 10}},
       .add_to_call = add_local_m},
      {.name = "local-p",
       .help = "local attention, predictive: keys within RADIUS positions of a position predicted from the query, "
               "weights times a Gaussian (Luong et al., 2015)",
       .role = Role::local_window,
       .excludes = {Role::local_window},
       .in_self = false,
       .numbers = {{"radius", 1, max_distance, 10}},
       .parameters = parameters_of_local_p,
       .add_to_call = add_local_p}};
}

}  // namespace qkv
