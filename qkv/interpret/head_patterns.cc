#include "qkv/interpret/head_patterns.h"

#include <array>

#include "qkv/base/error.h"
#include "qkv/interpret/pattern/current_token.h"
#include "qkv/interpret/pattern/diagonal.h"
#include "qkv/interpret/pattern/distance.h"
#include "qkv/interpret/pattern/first_token.h"
#include "qkv/interpret/pattern/induction.h"
#include "qkv/interpret/pattern/next_token.h"
#include "qkv/interpret/pattern/previous_token.h"
#include "qkv/interpret/pattern/same_token.h"
#include "qkv/interpret/pattern/separator.h"

namespace qkv {
namespace {

constexpr std::array all_patterns = {
    HeadPattern{"previous", pattern::previous_token}, HeadPattern{"current", pattern::current_token},
    HeadPattern{"next", pattern::next_token},         HeadPattern{"distance", pattern::distance},
    HeadPattern{"same", pattern::same_token},         HeadPattern{"induction", pattern::induction},
    HeadPattern{"diagonal", pattern::diagonal},       HeadPattern{"first", pattern::first_token},
    HeadPattern{"separator", pattern::separator}};

}  // namespace

std::span<const HeadPattern> head_patterns() { return all_patterns; }

std::string_view HeadPatterns::kind() const {
  constexpr double smallest = 0.4;
  std::string_view name;
  double largest = smallest;
  for (size_t i = 0; i < strengths.size(); ++i)
    if (strengths[i] && *strengths[i] >= largest && (name.empty() || *strengths[i] > largest)) {
      name = all_patterns[i].name;
      largest = *strengths[i];
    }
  return name;
}

LayerPatterns pattern_strengths(const Tensor& weights, std::span<const std::string> keys, bool self) {
  require(weights.rank() == 3 && weights.dim(2) > 0 && weights.dim(2) == std::ssize(keys) &&
              (!self || weights.dim(1) == weights.dim(2)),
          "pattern_strengths", "weights must be (H,T,S) with S the {} tokens{}, got {}", keys.size(),
          self ? " and T as many, of self-attention" : "", to_string(weights.shape()));
  const Tensor all = weights.to(DType::f32).contiguous_copy();
  LayerPatterns out;
  for (int64_t h = 0; h < all.dim(0); ++h) {
    const Tensor head = all.select(0, h);
    HeadPatterns& patterns = out.emplace_back();
    for (const HeadPattern& pattern : all_patterns)
      patterns.strengths.push_back(pattern.strength({.weights = head.span<float>(), .keys = keys, .self = self}));
  }
  return out;
}

std::vector<LayerPatterns> pattern_strengths(const AttentionMaps& maps) {
  std::vector<LayerPatterns> out;
  out.reserve(maps.layers.size());
  for (const Tensor& layer : maps.layers)
    out.push_back(pattern_strengths(layer, maps.columns, maps.use != AttentionUse::cross));
  return out;
}

}  // namespace qkv
