// The names of attention heads, STACK.LAYER.ATTENTION.HEAD, all counted from 0:
//
//     decoder.3.cross.5     encoder.0.self.2     decoder.3.self           the last one: all heads of the layer
//
//     const std::vector<NamedHeads> one = heads_named("decoder.3.cross.5,decoder.3.cross.6", config, "qkv inspect");
//     const std::vector<NamedHeads> each = heads_named("all", config, "qkv inspect");     // every head by itself
//
// Stack and attention are those of AttentionUse: encoder.self, decoder.self and decoder.cross. A causal model has a decoder, a
// masked model an encoder, and a recurrent model one head, decoder.0.cross.0.
// Errors   UsageError for what is not such a name, and for a layer or head that the model does not have; it begins with `where`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qkv/layer/head_ablation.h"
#include "qkv/model/config.h"

namespace qkv {

std::string name_of(const AttentionHead& head);                         // "decoder.3.cross.5"
std::vector<AttentionHead> attention_heads(const ModelConfig& config);  // all, in the order of the computation

struct NamedHeads {
  std::string name;
  std::vector<AttentionHead> heads;
};

// What a comma-separated list of names means: these heads together. "all": every head by itself; "layers": the heads of every
// attention layer together.
std::vector<NamedHeads> heads_named(std::string_view text, const ModelConfig& config, std::string_view where);

}  // namespace qkv
