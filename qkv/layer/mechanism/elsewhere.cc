#include "qkv/layer/mechanism/elsewhere.h"

namespace qkv {
namespace {

constexpr MechanismElsewhere all[] = {
    {"documents",
     "the ids of a packed row come with the batch: CausalTransformer::forward(ids, pass, documents), or "
     "documents(ids) "
     "as the mask of a call"},
    {"dense",
     "a table of visible pairs is the mask of a call, dense(table); bias=POSITIONS learns a number for each pair"},
    {"blocks",
     "a table of visible blocks is the mask of a call, blocks(table, block); bigbird has blocks by a rule"},
    {"causal", "self-attention of a decoder, and of a causal model, is always causal"},
    {"padding", "lengths come with the batch, and later positions are always masked"},
    {"around", "a window around given positions is the mask of a call, around(centers, radius); see local-p"},
    {"mask-mod", "a function of a pair is the mask of a call, mask_mod(rule)"},
    {"score-mod", "a function of a score is given in a call, score_mod(f)"},
    {"score-function", "a function of a query and a key is given in a call, score_function(f)"},
    {"dropout", "it is an option of the layer, --attention-dropout"},
    {"scaled-dot",
     "it is the score of full and of every variant without another score; dot=SCALE has another scale"},
    {"softmax", "it is in every variant that has no kernel; see softmax-with-sink"},
    {"concat", "additive is the same with separate matrices of query and key"},
    {"sinusoidal", "it is added to the embeddings, --positions sinusoidal"},
    {"learned", "learned positions are added to the embeddings, --positions learned"},
};

}  // namespace

std::span<const MechanismElsewhere> mechanisms_elsewhere() { return all; }

std::string_view used_elsewhere(std::string_view name) {
  for (const MechanismElsewhere& each : all)
    if (each.name == name) return each.advice;
  return {};
}

}  // namespace qkv
