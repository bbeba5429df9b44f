// A part of a model that lists its parameters and its children once: their names in files, their initialisation, their
// number and the formulas of `qkv describe` follow from that list.
//
//     void FeedForward::list(ModuleContents& contents) const {
//       contents.child("up", up);
//       contents.child("down", down);
//     }
//
//     layer.visit("feed_forward", [](const std::string& name, Variable& parameter) { ... });  // feed_forward.up.weight
//     layer.initialise("feed_forward", /*seed=*/1);
//
// A module is made without memory for its parameters: each is allocated when it is first used.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "qkv/autograd/variable.h"
#include "qkv/base/on_demand.h"
#include "qkv/op/weight.h"

namespace qkv {

// A width with the letter that formulas have for it: {512, "C"}. Without a letter, formulas have the number.
struct Axis {
  int64_t size = 0;
  std::string letter;
  Axis(int64_t n, std::string name = "") : size(n), letter(std::move(name)) {}  // NOLINT: implicit on purpose
};

// "C^2", "C F": the product of the sizes.
std::string product_formula(const std::vector<Axis>& axes);

// A learned tensor: its shape, its initial values, and, once it is used, its values. Copies are the same parameter.
//
// The values are a variable, which is trained. Those of a matrix, one that is used only in products x W^T and as a table,
// may instead be held packed for inference (op/weight.h): they are then used as a weight() and have no variable().
class Parameter {
 public:
  // Sets the initial values, a function of (seed, name); see layer/initialise.h.
  using Initialise = std::function<void(Variable& parameter, uint64_t seed, const std::string& name)>;

  Parameter() = default;  // none: defined() is false, and so is the Variable
  explicit Parameter(const std::vector<Axis>& axes, Initialise initialise = {}, float value = 0);
  // `formula`: the number of elements, where it is not the product of the axes' letters.
  Parameter(const Shape& shape, std::string formula, Initialise initialise = {}, float value = 0);

  static Parameter matrix(const Axis& rows, const Axis& columns, Initialise initialise = {});
  // A variable that exists already; one that is not defined: none.
  explicit Parameter(const Variable& variable);

  bool defined() const { return state_ != nullptr; }
  const Shape& shape() const { return state_->shape; }
  int64_t dim(int axis) const { return state_->shape[axis]; }
  const std::string& formula() const { return state_->formula; }
  void initialise(uint64_t seed, const std::string& name) const;  // without a function, every element is `value`

  bool is_matrix() const { return state_->is_matrix; }
  // Of a matrix: holds this weight, packed or in place, and no variable any more. Not while another thread uses it.
  void hold(const Weight& weight) const;
  // What it holds: f32, or bf16 if it is packed so. A copy if it is packed.
  Tensor values() const { return weight().values(); }
  StoredValues stored() const { return weight().stored(); }

  // Allocated at the first call; every element is `value` then.
  Variable& variable() const;
  operator const Variable&() const;  // NOLINT: a parameter is used like a variable
  const Weight& weight() const;
  operator const Weight&() const;  // NOLINT: and like a weight
  const Tensor& value() const { return variable().value(); }
  Tensor& mutable_value() const { return variable().mutable_value(); }
  const Tensor& grad() const { return variable().grad(); }

  friend bool operator==(const Parameter& a, const Parameter& b) { return a.state_ == b.state_; }

 private:
  struct State {
    Shape shape;
    std::string formula;
    Initialise initialise;
    float value = 0.0f;
    bool is_matrix = false;
    OnDemand<Variable> variable;
    OnDemand<Weight> weight;  // of the variable, or packed
  };
  std::shared_ptr<State> state_;
};

class Module;

class ModuleContents {
 public:
  virtual ~ModuleContents() = default;
  virtual void parameter(const std::string& name,
                         const Parameter& parameter) = 0;  // one that is not defined is skipped
  virtual void child(const std::string& name, const Module& module) = 0;
};

using ParameterVisitor = std::function<void(const std::string& name, Variable& parameter)>;
using ParameterFunction = std::function<void(const std::string& name, const Parameter& parameter)>;

class Module {
 public:
  virtual ~Module() = default;

  // Parameters and children in the order of the files. A parameter that is used twice is listed once.
  virtual void list(ModuleContents& contents) const = 0;

  // Every parameter; its name begins with `prefix` and a dot.
  void visit(const std::string& prefix, const ParameterVisitor& visitor) const;
  void visit(const ParameterVisitor& visitor) const { visit("", visitor); }
  void for_each_parameter(const ParameterFunction& function) const;  // the same, without allocating them
  void initialise(const std::string& prefix, uint64_t seed) const;
  int64_t parameter_count() const;

  // Packs every matrix: in f32 half of the memory, the same results, no gradients any more. Then returns free memory to
  // the system: most of it held the unpacked values. Not while another thread uses the module.
  void pack_for_inference(WeightFormat format = WeightFormat::f32, Precision precision = Precision::f32) const;
  // The numbers of every matrix in training (op/weight.h). Not while another thread uses the module.
  void train_in(const TrainingNumbers& numbers) const;

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module(Module&&) = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) = default;
};

inline std::string join_name(const std::string& prefix, const std::string& name) {
  return prefix.empty() || name.empty() ? prefix + name : prefix + "." + name;
}

}  // namespace qkv
