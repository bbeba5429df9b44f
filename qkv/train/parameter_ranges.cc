#include "qkv/train/parameter_ranges.h"

#include <algorithm>

namespace qkv {

std::vector<ParameterRange> parameter_ranges(std::span<const Variable> parameters) {
  constexpr int64_t longest = 32768;
  std::vector<ParameterRange> ranges;
  for (size_t p = 0; p < parameters.size(); ++p)
    for (int64_t begin = 0, n = parameters[p].value().numel(); begin < n; begin += longest)
      ranges.push_back({.parameter = p, .begin = begin, .end = std::min(n, begin + longest)});
  return ranges;
}

double parameter_bytes(std::span<const Variable> parameters) {
  int64_t numbers = 0;
  for (const Variable& parameter : parameters) numbers += parameter.value().numel();
  return static_cast<double>(numbers) * sizeof(float);
}

}  // namespace qkv
