// The parameters of a module, added up by layer. No memory is allocated for them.
//
//     for (const ParameterGroup& g : parameter_groups(model))
//       fmt::print("{} {} {}\n", g.name, g.formula, g.times * g.parameters);
//
// A group is a part whose children have no children of their own (an attention, a feed-forward network, a norm), or a
// single parameter of a larger part (an embedding). Groups that differ by the index of their layer only are one group.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "qkv/layer/module.h"

namespace qkv {

struct ParameterGroup {
  // "encoder.layers.*.self_attention": * is the index of the layer. "encoder.layers.0,4-6.self_attention" where that of
  // other layers differs.
  std::string name;
  std::string shapes;   // "query, key, value, out (512, 512) + (512)"
  std::string formula;  // "4 C^2 + 4 C", in the letters of Axis
  int64_t parameters;   // of one layer
  int64_t times;        // number of layers
};
std::vector<ParameterGroup> parameter_groups(const Module& module);

// Ascending numbers: "0,4-6"; after three ranges "0,2,4,...".
std::string index_ranges(std::span<const int64_t> indices);

}  // namespace qkv
