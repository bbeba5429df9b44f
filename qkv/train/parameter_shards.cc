#include "qkv/train/parameter_shards.h"

#include <algorithm>
#include <utility>

#include "qkv/base/error.h"

namespace qkv {
namespace {

// The ranges of each rank, [first, last): runs of about equal numbers of elements, the first of which is never empty.
std::vector<std::pair<size_t, size_t>> divide(const std::vector<ParameterRange>& ranges, int64_t size, int ranks) {
  std::vector<std::pair<size_t, size_t>> parts;
  size_t at = 0;
  int64_t elements = 0;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const size_t first = at;
    for (const int64_t end = size * (rank + 1) / ranks; at < ranges.size() && elements < end; ++at)
      elements += ranges[at].end - ranges[at].begin;
    parts.emplace_back(first, at);
  }
  return parts;
}

Variable view_of(Variable parameter, const ParameterRange& range) {
  const Tensor flat = parameter.value().reshape({parameter.value().numel()});
  const Tensor part = flat.slice(0, range.begin, range.end);
  const Shape shape = parameter.value().rank() >= 2 ? Shape{1, part.numel()} : Shape{part.numel()};
  return Variable(part.reshape(shape), {.requires_grad = true});
}

// Between ranks all states are floats, which hold those in bf16 without loss.
void copy_numbers(const Tensor& from, float* to) {
  const Tensor numbers = from.to(DType::f32);
  std::copy_n(numbers.data<float>(), numbers.numel(), to);
}
void copy_numbers(const float* from, Tensor to) {
  Tensor numbers = Tensor::empty(to.shape());
  std::copy_n(from, numbers.numel(), numbers.data<float>());
  to.copy_from(numbers.to(to.dtype()));
}

// The state of kind `kind` of all parameters, one after the other.
template <class Copy>
void for_each_part(const std::vector<OptimizerState>& state, size_t kind, size_t kinds, Copy copy) {
  size_t at = 0;
  for (size_t i = kind; i < state.size(); i += kinds) {
    copy(state[i].value, at);
    at += static_cast<size_t>(state[i].value.numel());
  }
}

}  // namespace

ParameterShards::ParameterShards(std::vector<Variable> parameters, Communicator& c)
    : parameters_(std::move(parameters)), c_(c) {
  for (const Variable& parameter : parameters_) {
    offsets_.push_back(size_);
    size_ += parameter.value().numel();
  }
  const std::vector<ParameterRange> ranges = parameter_ranges(parameters_);
  const auto parts = divide(ranges, size_, c.size());
  int64_t end = 0;
  for (const auto& [first, last] : parts) {
    const int64_t begin = end;
    for (size_t i = first; i < last; ++i) end += ranges[i].end - ranges[i].begin;
    shards_.push_back({begin, end});
  }
  const auto [first, last] = parts[static_cast<size_t>(c.rank())];
  for (size_t i = first; i < last; ++i) {
    ranges_.push_back(ranges[i]);
    own_.push_back(view_of(parameters_[ranges[i].parameter], ranges[i]));
  }
}

std::span<float> ParameterShards::shard(std::span<float> flat, int rank) const {
  const Shard& s = shards_[static_cast<size_t>(rank)];
  return flat.subspan(static_cast<size_t>(s.begin), static_cast<size_t>(s.size()));
}

void ParameterShards::give(const Tensor& flat, std::span<const uint8_t> reached) {
  for (size_t i = 0; i < own_.size(); ++i) {
    const auto& [parameter, begin, end] = ranges_[i];
    if (!reached[parameter]) continue;
    const int64_t at = offsets_[parameter];
    own_[i].backward(flat.slice(0, at + begin, at + end).reshape(own_[i].shape()));
  }
}

void ParameterShards::gather(Tensor& scratch) {
  const std::span<float> flat = scratch.span<float>();
  float* to = shard(flat, c_.rank()).data();
  for (const Variable& part : own_) to = std::copy_n(part.value().data<float>(), part.value().numel(), to);
  all_gather(c_, flat, shards_);
  const float* from = flat.data();
  for (Variable& parameter : parameters_) {
    const std::span<float> values = parameter.mutable_value().span<float>();
    std::copy_n(from, values.size(), values.begin());
    from += values.size();
  }
}

size_t ParameterShards::kinds(const std::vector<OptimizerState>& own) const {
  for (const OptimizerState& state : own)
    require(state.value.shape() == own_[state.parameter].shape(), "train",
            "shard-optimizer needs an optimizer whose state has the shape of the parameters; {} is {}, not {}",
            state.name, state.value.shape(), own_[state.parameter].shape());
  return own_.empty() ? 0 : own.size() / own_.size();
}

std::vector<OptimizerState> ParameterShards::blank_state(const std::vector<OptimizerState>& own) const {
  std::vector<OptimizerState> whole;
  if (c_.rank() > 0) return whole;
  for (size_t i = 0; i < parameters_.size(); ++i)
    for (size_t kind = 0; kind < kinds(own); ++kind)
      whole.push_back({.name = own[kind].name,
                       .parameter = i,
                       .value = Tensor::zeros(parameters_[i].shape(), own[kind].value.dtype())});
  return whole;
}

std::vector<OptimizerState> ParameterShards::collect(const std::vector<OptimizerState>& own) {
  std::vector<OptimizerState> whole = blank_state(own);
  const size_t kinds = this->kinds(own);
  std::vector<float> flat(
      static_cast<size_t>(c_.rank() == 0 ? size_ : shards_[static_cast<size_t>(c_.rank())].size()));
  for (size_t kind = 0; kind < kinds; ++kind) {
    for_each_part(own, kind, kinds, [&](const Tensor& part, size_t at) { copy_numbers(part, &flat[at]); });
    if (c_.rank() > 0) {
      c_.send(0, bytes_of(flat));
      continue;
    }
    for (int rank = 1; rank < c_.size(); ++rank)
      if (const auto part = shard(flat, rank); !part.empty()) c_.receive(rank, writable_bytes_of(part));
    for_each_part(whole, kind, kinds, [&](const Tensor& part, size_t at) { copy_numbers(&flat[at], part); });
  }
  return whole;
}

void ParameterShards::distribute(const std::vector<OptimizerState>& whole, const std::vector<OptimizerState>& own) {
  const size_t kinds = this->kinds(own);
  std::vector<float> flat(
      static_cast<size_t>(c_.rank() == 0 ? size_ : shards_[static_cast<size_t>(c_.rank())].size()));
  for (size_t kind = 0; kind < kinds; ++kind) {
    if (c_.rank() == 0) {
      for_each_part(whole, kind, kinds, [&](const Tensor& part, size_t at) { copy_numbers(part, &flat[at]); });
      for (int rank = 1; rank < c_.size(); ++rank)
        if (const auto part = shard(flat, rank); !part.empty()) c_.send(rank, bytes_of(part));
    } else {
      c_.receive(0, writable_bytes_of(flat));
    }
    for_each_part(own, kind, kinds, [&](const Tensor& part, size_t at) { copy_numbers(&flat[at], part); });
  }
}

}  // namespace qkv
