#include "qkv/train/optimizer.h"

#include <utility>

#include "qkv/base/error.h"
#include "qkv/train/adam.h"

namespace qkv {

Optimizer::Optimizer(std::vector<Variable> parameters) : parameters_(std::move(parameters)) {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Variable& parameter = parameters_[i];
    require(parameter.requires_grad() && parameter.value().contiguous(), "optimizer",
            "parameter {} of {} must require a gradient and be contiguous", i, parameters_.size());
    for (size_t j = 0; j < i; ++j)
      require(!(parameters_[j] == parameter), "optimizer", "parameters {} and {} are the same", j, i);
  }
}

void Optimizer::step(double learning_rate, double grad_scale) {
  ++updates_;
  update(learning_rate, grad_scale);
}

void Optimizer::zero_grad() {
  for (Variable& parameter : parameters_) parameter.zero_grad();
}

void Optimizer::set_updates(int64_t updates) {
  require(updates >= 0, "optimizer", "the number of updates must not be negative, got {}", updates);
  updates_ = updates;
}

std::unique_ptr<Optimizer> make_optimizer(std::vector<Variable> parameters, const OptimizerOptions& options) {
  return std::make_unique<Adam>(
      std::move(parameters),
      AdamOptions{.beta1 = options.beta1,
                  .beta2 = options.beta2,
                  .eps = options.eps,
                  .weight_decay = options.kind == OptimizerKind::adamw ? options.weight_decay : 0.0});
}

}  // namespace qkv
