#include "qkv/train/adam.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"

namespace qkv {
namespace {

void check(const AdamOptions& o) {
  for (const double beta : {o.beta1, o.beta2})
    require<UsageError>(beta >= 0 && beta < 1, "Adam", "a beta must be in [0, 1), got {}", beta);
  require<UsageError>(o.eps >= 0 && std::isfinite(o.eps), "Adam", "eps must not be negative, got {}", o.eps);
  require<UsageError>(o.weight_decay >= 0 && std::isfinite(o.weight_decay), "Adam",
                      "weight decay must not be negative, got {}", o.weight_decay);
}

}  // namespace

Adam::Adam(std::vector<Variable> parameters, const AdamOptions& options)
    : Optimizer(std::move(parameters)), options_(options) {
  check(options_);
  for (const Variable& parameter : Optimizer::parameters()) {
    first_.emplace_back(parameter.shape(), options_.state);
    second_.emplace_back(parameter.shape(), options_.state);
  }
  ranges_ = parameter_ranges(Optimizer::parameters());
}

std::vector<OptimizerState> Adam::state() {
  std::vector<OptimizerState> state;
  for (size_t i = 0; i < first_.size(); ++i) {
    state.push_back({.name = "adam.first", .parameter = i, .value = first_[i].tensor()});
    state.push_back({.name = "adam.second", .parameter = i, .value = second_[i].tensor()});
  }
  return state;
}

void Adam::update(double learning_rate, double grad_scale) {
  const std::span<Variable> parameters = this->parameters();
  // p, g and both moments are read, all but g are written.
  const double moments = options_.state == OptimizerStateFormat::bf16 ? 2 : 4;
  const OpScope scope("adam", {.bytes = (3 + moments) * parameter_bytes(parameters)}, OpPass::other);
  const double n = static_cast<double>(updates());
  kernel::AdamStep undecayed{.lr = learning_rate,
                             .beta1 = options_.beta1,
                             .beta2 = options_.beta2,
                             .eps = options_.eps,
                             .correction1 = 1 / (1 - std::pow(options_.beta1, n)),
                             .correction2 = 1 / (1 - std::pow(options_.beta2, n)),
                             .grad_scale = grad_scale};
  kernel::AdamStep decayed = undecayed;
  decayed.weight_decay = options_.weight_decay;
  struct Pointers {
    float* p;
    const float* g;
  };
  std::vector<Pointers> at;
  for (Variable& parameter : parameters) {
    const Tensor& grad = parameter.grad();
    at.push_back(grad.defined() ? Pointers{parameter.mutable_value().data<float>(), grad.span<float>().data()}
                                : Pointers{});
  }
  constexpr int64_t block = 2048;  // whose moments stay in the first-level cache as floats
  parallel_for(static_cast<int64_t>(ranges_.size()), [&](int64_t i) {
    const auto& [parameter, begin, end] = ranges_[static_cast<size_t>(i)];
    const auto& [p, g] = at[parameter];
    if (!g) return;
    const bool decays = options_.decay_vectors || parameters[parameter].value().rank() >= 2;
    Moment &first = first_[parameter], &second = second_[parameter];
    for (int64_t from = begin; from < end; from += block) {
      const int64_t to = std::min(end, from + block);
      Scratch scratch;
      float *const m = first.read(from, to, scratch), *const v = second.read(from, to, scratch);
      kernel::kernels().rows.adam(p + from, m, v, g + from, to - from, decays ? decayed : undecayed);
      first.write(from, to, m, updates());
      second.write(from, to, v, updates());
    }
  });
}

}  // namespace qkv
