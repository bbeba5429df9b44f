#include "qkv/train/optimizer.h"

#include <utility>

#include "qkv/base/error.h"
#include "qkv/train/adafactor.h"
#include "qkv/train/adam.h"
#include "qkv/train/muon.h"

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

namespace {

// Embeddings, tables and output layers have other names.
bool is_hidden_matrix(const std::string& name, const Variable& parameter) {
  return parameter.value().rank() == 2 && name.ends_with(".weight") && !name.starts_with("output");
}

AdamOptions adam_options(const OptimizerOptions& options) {
  return {.beta1 = options.beta1,
          .beta2 = options.beta2,
          .eps = options.eps,
          .weight_decay = options.kind == OptimizerKind::adam ? 0.0 : options.weight_decay,
          .state = options.state};
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const NamedParameters& named, const OptimizerOptions& options) {
  std::vector<Variable> parameters;
  std::vector<bool> hidden;
  for (const auto& [name, parameter] : named) {
    parameters.push_back(parameter);
    hidden.push_back(is_hidden_matrix(name, parameter));
  }
  if (options.kind != OptimizerKind::muon) return make_optimizer(std::move(parameters), options);
  return std::make_unique<Muon>(std::move(parameters), hidden,
                                MuonOptions{.weight_decay = options.weight_decay, .adam = adam_options(options)});
}

std::unique_ptr<Optimizer> make_optimizer(std::vector<Variable> parameters, const OptimizerOptions& options) {
  require<UsageError>(options.kind != OptimizerKind::muon, "optimizer",
                      "muon needs the names of the parameters, which say which of them it is for");
  if (options.kind == OptimizerKind::adafactor)
    return std::make_unique<Adafactor>(std::move(parameters),
                                       AdafactorOptions{.weight_decay = options.weight_decay});
  return std::make_unique<Adam>(std::move(parameters), adam_options(options));
}

}  // namespace qkv
