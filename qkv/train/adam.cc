#include "qkv/train/adam.h"

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
    first_.push_back(Tensor::zeros(parameter.shape()));
    second_.push_back(Tensor::zeros(parameter.shape()));
  }
  ranges_ = parameter_ranges(Optimizer::parameters());
}

std::vector<OptimizerState> Adam::state() {
  std::vector<OptimizerState> state;
  for (size_t i = 0; i < first_.size(); ++i) {
    state.push_back({.name = "adam.first", .parameter = i, .value = first_[i]});
    state.push_back({.name = "adam.second", .parameter = i, .value = second_[i]});
  }
  return state;
}

void Adam::update(double learning_rate, double grad_scale) {
  const std::span<Variable> parameters = this->parameters();
  const OpScope scope("adam", {.bytes = 7.0 * parameter_bytes(parameters)}, OpPass::other);
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
    float *p, *m, *v;
    const float* g;
  };
  std::vector<Pointers> at;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& grad = parameters[i].grad();
    if (grad.defined()) {
      at.push_back({parameters[i].mutable_value().data<float>(), first_[i].data<float>(), second_[i].data<float>(),
                    grad.span<float>().data()});
    } else {
      at.push_back({});
    }
  }
  parallel_for(static_cast<int64_t>(ranges_.size()), [&](int64_t i) {
    const auto& [parameter, begin, end] = ranges_[static_cast<size_t>(i)];
    const auto& [p, m, v, g] = at[parameter];
    if (!g) return;
    const bool decays = options_.decay_vectors || parameters[parameter].value().rank() >= 2;
    kernel::kernels().rows.adam(p + begin, m + begin, v + begin, g + begin, end - begin,
                                decays ? decayed : undecayed);
  });
}

}  // namespace qkv
