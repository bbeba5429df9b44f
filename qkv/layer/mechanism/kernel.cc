// Kernel (Nadaraya-Watson) regression: a kernel of the distance |q - k| / sigma instead of score and softmax.

#include "qkv/attention/normalize/kernel_weights.h"
#include "qkv/attention/score/distance.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/mechanism/table.h"

namespace qkv {
namespace {

using Role = AttentionMechanism::Role;

template <NormalizerPtr (*kernel)()>
void add_kernel(AttentionOptions& options, const AttentionPart& part) {
  options.score = gaussian(static_cast<float>(part.numbers()[0]));
  options.normalize = kernel();
}

AttentionMechanism kernel_mechanism(std::string_view name, std::string_view help,
                                    void (*add_to)(AttentionOptions&, const AttentionPart&)) {
  return {.name = name,
          .help = help,
          .role = Role::score,
          .excludes = {Role::score, Role::normalize},
          .numbers = {{"sigma", 1e-6, 1e6, {}, false}},
          .add_to = add_to};
}

}  // namespace

AttentionMechanisms kernel_mechanisms() {
  return {
      kernel_mechanism(
          "boxcar", "kernel regression, weight 1 where |q - k| < sigma, else 0; queries and keys get no gradient",
          add_kernel<boxcar>),
      kernel_mechanism("epanechnikov", "kernel regression, weight max(0, 1 - |q - k|^2 / sigma^2)",
                       add_kernel<epanechnikov>),
      kernel_mechanism("triangular", "kernel regression, weight max(0, 1 - |q - k| / sigma)",
                       add_kernel<triangular>),
      {.name = "constant",
       .help = "the same weight for every visible key: average pooling, without query and key projections",
       .role = Role::score,
       .excludes = {Role::score, Role::normalize, Role::modify, Role::rotation, Role::position_bias,
                    Role::global_projections},
       .reads_queries = false,
       .reads_keys = false,
       .add_to = [](AttentionOptions& options, const AttentionPart&) { options.normalize = constant(); }}};
}

}  // namespace qkv
