// The attention variants of the layers of a stack: groups of layers, repeated from the first layer to the last.
//
//     AttentionPattern pattern = {{Full{}, 1}, {SlidingWindow{64}, 3}};       // layers 0, 4, 8, ... are full
//     pattern.of_layer(4)                                                     // Full{}
//     attention_pattern("full*1,window=64*3")                                 // the same from text; *1 may be left out
//     AttentionPattern all = SlidingWindow{64};                               // every layer: "window=64"
//
// As in Gemma 2 (2024), whose layers alternate between a sliding window and full attention.
// Errors: UsageError for a group without layers, and whatever attention_variant() rejects.
#pragma once

#include <initializer_list>

#include "qkv/layer/attention_variant.h"

namespace qkv {

class AttentionPattern {
 public:
  struct Group {
    AttentionVariant variant;
    int64_t layers = 1;  // 1 to 1000
    bool operator==(const Group&) const = default;
  };

  AttentionPattern() : AttentionPattern(AttentionVariant()) {}
  template <std::convertible_to<AttentionVariant> T>
  AttentionPattern(const T& variant) : groups_{{variant, 1}} {}  // NOLINT: implicit on purpose
  // Adjacent groups of the same variant become one.
  AttentionPattern(std::initializer_list<Group> groups) : AttentionPattern(std::vector<Group>(groups)) {}
  explicit AttentionPattern(const std::vector<Group>& groups, std::string_view where = "attention pattern");

  const std::vector<Group>& groups() const { return groups_; }
  const AttentionVariant& of_layer(int64_t n) const;

  // The same groups.
  bool operator==(const AttentionPattern&) const = default;

 private:
  std::vector<Group> groups_;
};

// Groups joined by ','. `where` begins the error, and is followed by the number of the group if there are several.
AttentionPattern attention_pattern(std::string_view text, std::string_view where = "attention pattern");
std::string to_string(const AttentionPattern& pattern);  // "full,window=64*3"

}  // namespace qkv
