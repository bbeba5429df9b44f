// What attention heads do, measured: how much of its weight a head has where a pattern says. Each pattern is a file of pattern/,
// with its formula; strengths are mean weights, from 0 to 1.
//
//     previous  current  next        the token before, the own one, the one after          of self-attention
//     distance                       one distance from the own position, any other
//     same  induction                earlier copies of the token; what followed the last of them
//     diagonal                       through the keys as the queries go on                 of cross-attention
//     first  separator               the first token; punctuation and special tokens       of both
//
//     for (const LayerPatterns& layer : pattern_strengths(inspection.attention[0]))
//       for (const HeadPatterns& head : layer) fmt::print("{}\n", head.kind());          // "previous", "induction", ...
//
// A strength is that of one text: choose the text before you look, and measure on another what you found on one. Induction is
// measured on repeated_tokens(), random tokens that a causal model reads twice.
//
// Errors   Error for weights that are not (H,T,S) with S tokens.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/interpret/head_weights.h"
#include "qkv/pipeline/inspect.h"

namespace qkv {

struct HeadPattern {
  std::string_view name;
  std::optional<double> (*strength)(const HeadWeights& head);  // none: no query that the pattern is about
};
std::span<const HeadPattern> head_patterns();  // all, in the order of the table above

struct HeadPatterns {
  std::vector<std::optional<double>> strengths;  // of head_patterns()

  // The name of the strongest pattern, if that has at least 40% of the weight; "": none of them.
  std::string_view kind() const;
};
using LayerPatterns = std::vector<HeadPatterns>;  // of every head

// weights (H,T,S); self: query t is at the position of key t.
LayerPatterns pattern_strengths(const Tensor& weights, std::span<const std::string> keys, bool self);
std::vector<LayerPatterns> pattern_strengths(const AttentionMaps& maps);  // of every layer

}  // namespace qkv
