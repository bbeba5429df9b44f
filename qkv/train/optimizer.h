// Optimizers: from the gradients of parameters to their next values. Each is a file of its own: train/adam.h, muon.h,
// adafactor.h.
//
//     std::unique_ptr<Optimizer> optimizer = make_optimizer(parameters, {.kind = OptimizerKind::adamw});
//     loss.backward();
//     optimizer->step(rate);
//     optimizer->zero_grad();
//
// A parameter without a gradient is not changed, and neither is its state. What an optimizer does is the same bits on
// any number of threads.
// Errors   UsageError for options out of range; Error for a parameter that is given twice, needs no gradient or is not
//          contiguous.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "qkv/autograd/variable.h"
#include "qkv/base/names.h"
#include "qkv/train/moment.h"

namespace qkv {

enum class OptimizerKind { adam, adamw, muon, adafactor };
constexpr auto names_of(OptimizerKind) {
  return std::array{Named{OptimizerKind::adam, "adam"}, Named{OptimizerKind::adamw, "adamw"},
                    Named{OptimizerKind::muon, "muon"}, Named{OptimizerKind::adafactor, "adafactor"}};
}

// Whether each number of a parameter has a state of its own: a part of a parameter can be updated by itself.
constexpr bool is_elementwise(OptimizerKind kind) {
  return kind == OptimizerKind::adam || kind == OptimizerKind::adamw;
}

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adam;
  double beta1 = 0.9, beta2 = 0.98, eps = 1e-9;
  double weight_decay = 0.01;                              // of all but adam
  OptimizerStateFormat state = OptimizerStateFormat::f32;  // of the averages of adam, adamw and muon
};

// A tensor that an optimizer keeps for a parameter: moments, averages. A view: what is written to it is its next state.
struct OptimizerState {
  std::string name;      // "adam.first"; a checkpoint has it as NAME.PARAMETER
  size_t parameter = 0;  // its index
  Tensor value;
};

class Optimizer {
 public:
  explicit Optimizer(std::vector<Variable> parameters);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(Optimizer&&) = default;

  // The next values, from grad_scale times the gradients.
  void step(double learning_rate, double grad_scale = 1.0);
  void zero_grad();

  // For checkpoints: all of its state beside the parameters, in their order, and the number of updates made.
  virtual std::vector<OptimizerState> state() = 0;
  int64_t updates() const { return updates_; }
  void set_updates(int64_t updates);

 protected:
  std::span<Variable> parameters() { return parameters_; }

 private:
  // Update number updates(), from 1.
  virtual void update(double learning_rate, double grad_scale) = 0;

  std::vector<Variable> parameters_;
  int64_t updates_ = 0;
};

// Of a model, whose names say which matrices are those of linear layers within it: "layers.0.feed_forward.up.weight".
using NamedParameters = std::vector<std::pair<std::string, Variable>>;
std::unique_ptr<Optimizer> make_optimizer(const NamedParameters& parameters, const OptimizerOptions& options);
// UsageError for muon, which needs the names.
std::unique_ptr<Optimizer> make_optimizer(std::vector<Variable> parameters, const OptimizerOptions& options);

}  // namespace qkv
