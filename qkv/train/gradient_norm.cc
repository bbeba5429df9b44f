#include "qkv/train/gradient_norm.h"

#include <cmath>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/train/parameter_ranges.h"

namespace qkv {

std::vector<double> gradient_squares(std::span<const Variable> parameters) {
  const OpScope scope("gradient norm", {.bytes = parameter_bytes(parameters)}, OpPass::other);
  const std::vector<ParameterRange> ranges = parameter_ranges(parameters);
  std::vector<double> squares(ranges.size());
  parallel_for(static_cast<int64_t>(ranges.size()), [&](int64_t i) {
    const auto& [parameter, begin, end] = ranges[static_cast<size_t>(i)];
    const Tensor& gradient = parameters[parameter].grad();
    if (!gradient.defined()) return;
    squares[static_cast<size_t>(i)] =
        kernel::kernels().rows.sum_of_squares(gradient.span<float>().data() + begin, end - begin);
  });
  return squares;
}

double gradient_norm(std::span<const Variable> parameters) {
  double total = 0;
  for (const double square : gradient_squares(parameters)) total += square;
  return std::sqrt(total);
}

double clip_factor(double norm, double max_norm) {
  require<UsageError>(max_norm >= 0, "clip", "the maximum norm must not be negative, got {}", max_norm);
  return max_norm > 0 && norm > max_norm ? max_norm / norm : 1.0;
}

double clip_gradients(std::span<Variable> parameters, double max_norm) {
  const double norm = gradient_norm(parameters);
  const double factor = clip_factor(norm, max_norm);
  if (factor == 1.0) return norm;
  for (const auto& [parameter, begin, end] : parameter_ranges(parameters)) {
    if (!parameters[parameter].grad().defined()) continue;
    float* g = parameters[parameter].mutable_grad().data<float>() + begin;
    kernel::kernels().rows.scale(g, static_cast<float>(factor), end - begin, g);
  }
  return norm;
}

}  // namespace qkv
