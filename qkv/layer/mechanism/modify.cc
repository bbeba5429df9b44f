#include "qkv/attention/modify/softcap.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/mechanism/table.h"

namespace qkv {

AttentionMechanisms modify_mechanisms() {
  return {{.name = "softcap",
           .help = "scores become cap tanh(score / cap) (Gemma 2, 2024)",
           .role = AttentionMechanism::Role::modify,
           .numbers = {{"cap", 1e-3, 1e6, 50, false}},
           .add_to = [](AttentionOptions& options, const AttentionPart& part) {
             options.modify.push_back(softcap(static_cast<float>(part.numbers()[0])));
           }}};
}

}  // namespace qkv
