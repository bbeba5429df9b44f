#include "qkv/attention/normalize/softmax.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/word/table.h"

namespace qkv {
namespace {

using Role = AttentionWord::Role;

}  // namespace

AttentionWords normalize_words() {
  return {{.name = "sink",
           .help = "a learnt score a head that belongs to no key takes a part of the weights",
           .role = Role::normalize,
           .excludes = {Role::normalize},
           .parameters =
               [](const AttentionWord::Numbers&, const AttentionSize& size) {
                 return std::vector<AttentionWord::Parameter>{{"scores", {size.heads}, "H"}};
               },
           .add_to = [](AttentionOptions& options,
                        const AttentionPart& part) { options.normalize = softmax_with_sink(part.parameter(0)); }}};
}

}  // namespace qkv
