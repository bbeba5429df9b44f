// For tests of all mechanisms: each with small numbers, so that they matter in short sequences.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "qkv/layer/attention_variant_text.h"

namespace qkv {

// "bigbird=2:1:1:2": arguments are chosen by their names, 2 for others. A prefix gets a window beside it.
inline std::string sample_of(const AttentionMechanism& mechanism) {
  static const std::map<std::string_view, std::string> small = {
      {"radius", "3"}, {"dilation", "2"}, {"stride", "3"},   {"globals", "2"},      {"block", "2"},
      {"window", "1"}, {"random", "2"},   {"width", "4"},    {"keys", "5"},         {"sigma", "3.5"},
      {"cap", "2"},    {"base", "100"},   {"buckets", "8"},  {"max-distance", "9"}, {"queries", "3"},
      {"heads", "2"},  {"scale", "3"},    {"positions", "6"}};
  std::string text(mechanism.facts().name);
  bool first = true;
  for (const MechanismArgument& argument : mechanism.arguments()) {
    if (argument.by_name) continue;
    const auto at = small.find(argument.name);
    text += fmt::format("{}{}", first ? "=" : ":", at == small.end() ? "2" : at->second);
    first = false;
  }
  return mechanism.facts().role == AttentionMechanism::Role::prefix ? "window=1+" + text : text;
}

// Some need the whole sequence, and are not for decoders.
inline bool is_for_decoders(const AttentionMechanism& mechanism) {
  return !mechanism.error({.use = AttentionUse::decoder}).starts_with("it is for encoders");
}

// All mechanisms for that use, and some combinations.
inline std::vector<std::string> sample_variants(AttentionUse use) {
  const bool cross = use == AttentionUse::cross;
  std::vector<std::string> variants;
  for (const AttentionMechanismPtr& mechanism : attention_mechanisms())
    if (cross ? mechanism->facts().in_cross : mechanism->facts().in_self && is_for_decoders(*mechanism))
      variants.push_back(sample_of(*mechanism));
  if (cross) {
    variants.insert(variants.end(),
                    {"local-p=2+additive", "local-m=2+softmax-with-sink+softcap=3", "local-p=2+constant"});
  } else {
    variants.insert(
        variants.end(),
        {"window=3+softcap=2+softmax-with-sink+rotary", "longformer-separate=2:2+rotary",
         "prefix=2+multi-token=3:3:2+window=1", "location=5+rotary", "multi-token=3:3:2+window=4+rotary",
         "bigbird=2:1:1:2+additive+alibi", "additive=5", "rotary=100:2:interleaved=true",
         "rotary=100:2:scaling=proportional:factor=2",
         "rotary=100:scaling=dynamic:factor=2:original-positions=8:length=40",
         "rotary=100:scaling=yarn:factor=4:original-positions=16",
         "rotary=100:4:scaling=longrope:factor=4:original-positions=8:length=40:short=1/1.5:long=2/4",
         "bias=6+rotary+window=4", "relative-bias=8:9:shared=true+window=4", "softcap=2+bias=64+alibi"});
  }
  return variants;
}

// For the name of a test.
inline std::string as_name(std::string text) {
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return text;
}

}  // namespace qkv
