#include "qkv/layer/attention_pattern.h"

#include <charconv>

#include <fmt/format.h>

#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/layer/attention_variant_text.h"

namespace qkv {
namespace {

constexpr int64_t max_layers = 1000;

// "window=64*3"
AttentionPattern::Group parse_group(std::string_view text, std::string_view where) {
  const size_t star = text.rfind('*');
  if (star == text.npos) return {attention_variant(text, where), 1};
  const std::string_view given = text.substr(star + 1);
  int64_t layers = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), layers);
  require<UsageError>(
      error == std::errc() && end == given.data() + given.size() && layers >= 1 && layers <= max_layers, where,
      "{}: the number of layers after * must be an integer from 1 to {}, got {}", quoted_name(text), max_layers,
      quoted_name(given));
  return {attention_variant(text.substr(0, star), where), layers};
}

}  // namespace

AttentionPattern::AttentionPattern(const std::vector<Group>& groups, std::string_view where) {
  require<UsageError>(!groups.empty(), where, "there must be at least one group of layers");
  for (const Group& group : groups) {
    require<UsageError>(group.layers >= 1 && group.layers <= max_layers, where,
                        "{} must have 1 to {} layers, got {}", quoted_name(to_string(group.variant)), max_layers,
                        group.layers);
    if (!groups_.empty() && groups_.back().variant == group.variant)
      groups_.back().layers += group.layers;
    else
      groups_.push_back(group);
  }
  if (groups_.size() == 1) groups_.front().layers = 1;  // repeated anyway
  for (const Group& group : groups_)
    require<UsageError>(group.layers <= max_layers, where, "{} must have 1 to {} adjacent layers, got {}",
                        quoted_name(to_string(group.variant)), max_layers, group.layers);
}

const AttentionVariant& AttentionPattern::of_layer(int64_t n) const {
  require(n >= 0, "AttentionPattern::of_layer", "the layer must not be negative, got {}", n);
  int64_t period = 0;
  for (const Group& group : groups_) period += group.layers;
  n %= period;
  for (const Group& group : groups_) {
    if (n < group.layers) return group.variant;
    n -= group.layers;
  }
  fail("AttentionPattern::of_layer", "layer {} is after the last group", n);
}

AttentionPattern attention_pattern(std::string_view text, std::string_view where) {
  std::vector<AttentionPattern::Group> groups;
  const bool several = text.find(',') != text.npos;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string place = several ? fmt::format("{}: group {}", where, groups.size() + 1) : std::string(where);
    groups.push_back(parse_group(text.substr(begin, end - begin), place));
    begin = end + 1;
  }
  return AttentionPattern(groups, where);
}

std::string to_string(const AttentionPattern& pattern) {
  std::string text;
  for (const AttentionPattern::Group& group : pattern.groups()) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", to_string(group.variant));
    if (group.layers > 1) text += fmt::format("*{}", group.layers);
  }
  return text;
}

}  // namespace qkv
