#include "qkv/attention/modify/softcap.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/word/table.h"

namespace qkv {

AttentionWords modify_words() {
  return {{.name = "softcap",
           .help = "a smooth bound on the scores (Gemma 2, 2024)",
           .role = AttentionWord::Role::modify,
           .numbers = {{"cap", 1e-3, 1e6, 50, false}},
           .add_to = [](AttentionOptions& options, const AttentionPart& part) {
             options.modify.push_back(softcap(static_cast<float>(part.numbers()[0])));
           }}};
}

}  // namespace qkv
