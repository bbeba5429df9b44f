// Words of Nadaraya-Watson regression: a kernel of the distance |q - k| / sigma instead of score and softmax.

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

AttentionMechanism word(std::string_view name, std::string_view help,
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
      word("boxcar", "the mean of the keys nearer than sigma; queries and keys learn nothing", add_kernel<boxcar>),
      word("epanechnikov", "weights 1 - |q - k|^2 / sigma^2, and none beyond sigma", add_kernel<epanechnikov>),
      word("triangular", "weights 1 - |q - k| / sigma, and none beyond sigma", add_kernel<triangular>)};
}

}  // namespace qkv
