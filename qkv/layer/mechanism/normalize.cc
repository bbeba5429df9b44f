#include "qkv/attention/normalize/softmax.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/mechanism/table.h"

namespace qkv {
namespace {

using Role = AttentionMechanism::Role;

}  // namespace

AttentionMechanisms normalize_mechanisms() {
  return {{.name = "sink",
           .help = "a learnt score a head that belongs to no key takes a part of the weights",
           .role = Role::normalize,
           .excludes = {Role::normalize},
           .parameters =
               [](const AttentionMechanism::Numbers&, const AttentionSize& size) {
                 return std::vector<AttentionMechanism::Parameter>{{"scores", {size.heads}, "H"}};
               },
           .add_to = [](AttentionOptions& options,
                        const AttentionPart& part) { options.normalize = softmax_with_sink(part.parameter(0)); }}};
}

}  // namespace qkv
