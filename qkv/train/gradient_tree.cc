#include "qkv/train/gradient_tree.h"

#include <algorithm>
#include <utility>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"

namespace qkv {

GradientTree::GradientTree(std::vector<Variable> parameters, GradientFormat format)
    : parameters_(std::move(parameters)),
      format_(format),
      ranges_(parameter_ranges(parameters_)),
      reached_(parameters_.size()) {
  for (const Variable& parameter : parameters_) offsets_.push_back(offsets_.back() + parameter.value().numel());
}

void GradientTree::round(float* numbers, int64_t count) const {
  if (format_ == GradientFormat::f32) return;
  for (int64_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(bfloat16(numbers[i]));
}

void GradientTree::add_to(Tensor to, const Tensor& from) const {
  const OpScope scope("sum of gradients", OpWork::moves(to, 3));
  float* y = to.data<float>();
  const float* x = from.data<float>();
  parallel_ranges(to.numel(), 1 << 16, [&](int64_t begin, int64_t end) {
    kernel::kernels().rows.add(y + begin, x + begin, end - begin, y + begin);
    round(y + begin, end - begin);
  });
}

void GradientTree::take(Tensor& to, Take how, size_t first, size_t last) const {
  const Shard flat_part = part(first, last);
  const OpScope scope("sum of gradients", OpWork::moves(to.slice(0, flat_part.begin, flat_part.end), 3));
  float* flat = to.data<float>();
  const auto range_of = [&](size_t parameter) {
    return std::partition_point(ranges_.begin(), ranges_.end(),
                                [&](const ParameterRange& range) { return range.parameter < parameter; });
  };
  const auto first_range = range_of(first);
  parallel_for(range_of(last) - first_range, [&](int64_t i) {
    const auto& [parameter, begin, end] = first_range[i];
    const Tensor& gradient = parameters_[parameter].grad();
    float* y = flat + offsets_[parameter] + begin;
    const int64_t n = end - begin;
    if (!gradient.defined()) {
      // Also added where there is none, as between processes: -0 + 0 is 0.
      for (int64_t j = 0; j < n; ++j) y[j] = how == Take::copied ? 0.0f : y[j] + 0.0f;
      return;
    }
    const float* g = gradient.span<float>().data() + begin;
    if (how == Take::copied) {
      std::copy_n(g, n, y);
    } else if (format_ == GradientFormat::f32) {
      kernel::kernels().rows.add(y, g, n, y);
    } else {
      for (int64_t j = 0; j < n; ++j) y[j] += static_cast<float>(bfloat16(g[j]));
    }
    round(y, n);
  });
}

Tensor GradientTree::add_part(size_t first, size_t last) {
  if (levels_.empty()) levels_.emplace_back();
  if (!levels_[0].numbers.defined()) levels_[0].numbers = Tensor::empty({offsets_.back()});
  take(levels_[0].numbers, levels_[0].full ? Take::added : Take::copied, first, last);
  for (size_t i = first; i < last; ++i) {
    if (parameters_[i].grad().defined()) reached_[i] = 1;
    parameters_[i].zero_grad();
  }
  const Shard flat = part(first, last);
  const auto numbers = [&](size_t level) { return levels_[level].numbers.slice(0, flat.begin, flat.end); };
  size_t level = 0;
  for (; levels_[level].full && level + 1 < levels_.size() && levels_[level + 1].full; ++level)
    add_to(numbers(level + 1), numbers(level));
  return numbers(level);
}

// Level i has become a sum of two: it belongs one level higher.
void GradientTree::end_piece() {
  bool is_sum = std::exchange(levels_[0].full, true);
  for (size_t i = 0; is_sum; ++i) {
    if (i + 1 == levels_.size()) levels_.emplace_back();
    Level &low = levels_[i], &high = levels_[i + 1];
    low.full = false;
    is_sum = std::exchange(high.full, true);
    if (!is_sum) std::swap(low.numbers, high.numbers);
  }
}

void GradientTree::add() {
  add_part(0, parameters_.size());
  end_piece();
}

void GradientTree::clear() {
  for (Level& level : levels_) level.full = false;
  std::fill(reached_.begin(), reached_.end(), uint8_t{0});
}

Tensor GradientTree::sum() const {
  const auto full = [](const Level& level) { return level.full; };
  require(std::count_if(levels_.begin(), levels_.end(), full) == 1, "GradientTree",
          "the number of pieces must be a power of two");
  return std::find_if(levels_.begin(), levels_.end(), full)->numbers;
}

void GradientTree::give(const Tensor& flat) {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!reached_[i]) continue;
    const Tensor part = flat.slice(0, offsets_[i], offsets_[i + 1]);
    parameters_[i].backward(part.reshape(parameters_[i].shape()));
  }
}

}  // namespace qkv
