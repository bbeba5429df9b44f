// For tests that go through the table of words: each with small numbers, so that short sequences feel them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "qkv/layer/attention_variant.h"

namespace qkv {

// "bigbird=2:1:1:2": the numbers of a word are known by name; another one is as usual, or 2.
inline std::string sample_of(const AttentionMechanism& word) {
  static const std::map<std::string_view, std::string> small = {
      {"reach", "3"},   {"step", "2"},     {"stride", "3"},  {"globals", "2"}, {"block", "2"}, {"window", "1"},
      {"random", "2"},  {"width", "5"},    {"keys", "5"},    {"sigma", "3.5"}, {"cap", "2"},   {"base", "100"},
      {"buckets", "8"}, {"distance", "9"}, {"queries", "3"}, {"heads", "2"},   {"scale", "3"}};
  std::string text(word.name);
  for (size_t i = 0; i < word.numbers.size(); ++i) {
    const auto at = small.find(word.numbers[i].name);
    text += fmt::format("{}{}", i == 0 ? "=" : ":", at == small.end() ? "2" : at->second);
  }
  return text;
}

// All words that can stand there, and a few together.
inline std::vector<std::string> sample_variants(AttentionUse use) {
  const bool cross = use == AttentionUse::cross;
  std::vector<std::string> kinds;
  for (const AttentionMechanism& word : attention_mechanisms())
    if (cross ? word.in_cross : word.in_self) kinds.push_back(sample_of(word));
  if (cross) {
    kinds.insert(kinds.end(), {"local-p=2+additive", "local-m=2+sink+softcap=3"});
  } else {
    kinds.insert(kinds.end(), {"window=3+softcap=2+sink+rotary", "longformer-separate=2:2+rotary",
                               "multi-token=3:3:2+window=4+rotary", "bigbird=2:1:1:2+additive+alibi"});
  }
  return kinds;
}

// As part of a test's name.
inline std::string as_name(std::string text) {
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return text;
}

}  // namespace qkv
