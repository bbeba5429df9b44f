// Parameters cut into ranges of a fixed size, in their order: what threads and processes divide among themselves, and
// what sums over all elements are made of, so that neither changes a bit of the result.
//
//     for (const ParameterRange& r : parameter_ranges(parameters)) work(parameters[r.parameter], r.begin, r.end);
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/autograd/variable.h"

namespace qkv {

struct ParameterRange {
  size_t parameter = 0;
  int64_t begin = 0, end = 0;  // elements of it
};

// Of at most 32,768 elements each.
std::vector<ParameterRange> parameter_ranges(std::span<const Variable> parameters);

// Of all elements, as f32.
double parameter_bytes(std::span<const Variable> parameters);

}  // namespace qkv
