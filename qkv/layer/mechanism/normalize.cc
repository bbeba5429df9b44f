#include "qkv/attention/normalize/softmax.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/mechanism/table.h"

namespace qkv {
namespace {

using Role = AttentionMechanism::Role;

}  // namespace

AttentionMechanisms normalize_mechanisms() {
  return {{.name = "softmax-with-sink",
           .help = "attention sink: a learned score per head that belongs to no key takes part of the weight",
           .role = Role::normalize,
           .excludes = {Role::normalize},
           .parameters =
               [](const AttentionMechanism::Numbers&, const AttentionSize& size) {
                 return AttentionMechanism::Parameters{{"scores", Parameter({Axis(size.heads, "H")})}};
               },
           .add_to = [](AttentionOptions& options,
                        const AttentionPart& part) { options.normalize = softmax_with_sink(part.parameter(0)); }}};
}

}  // namespace qkv
