// The parameters of a Transformer, counted from its configuration without allocating any.
//
//     for (const ParameterGroup& g : parameter_groups(config))
//       fmt::print("{} {} {}\n", g.name, g.formula, g.times * g.parameters);
//     parameter_count(config);             // Transformer(config, seed).parameter_count()
//
// Letters: C d_model, F ffn, V and W source and target vocabulary, P max_positions, K = C kv_heads / heads the
// width of keys and values (C unless heads are grouped). The parameters of a mechanism are counted in D, the
// width of a head, H heads, and the names of its numbers (layer/mechanism).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qkv/model/config.h"

namespace qkv {

struct ParameterGroup {
  std::string name;     // "encoder.layers.*.self_attention": * is the index of the layer
  std::string shapes;   // "query, key, value, out (512, 512) + (512)"
  std::string formula;  // "4 C^2 + 4 C"
  int64_t parameters;   // of one layer
  int64_t times;        // number of layers
};
std::vector<ParameterGroup> parameter_groups(const TransformerConfig& config);

int64_t parameter_count(const TransformerConfig& config);

// K, the width of keys and values.
int64_t key_value_width(const TransformerConfig& config);

}  // namespace qkv
