#include "qkv/layer/module.h"

#include <algorithm>

#include <fmt/format.h>

#include "qkv/base/error.h"
#include "qkv/tensor/storage.h"

namespace qkv {
namespace {

Shape shape_of(const std::vector<Axis>& axes) {
  std::vector<int64_t> sizes;
  sizes.reserve(axes.size());
  for (const Axis& axis : axes) sizes.push_back(axis.size);
  return Shape(sizes);
}

// Calls a function for every parameter of a module and of its children.
template <class Function>
class Walk final : public ModuleContents {
 public:
  Walk(std::string prefix, const Function& function) : prefix_(std::move(prefix)), function_(function) {}
  void parameter(const std::string& name, const Parameter& parameter) override {
    if (parameter.defined()) function_(join_name(prefix_, name), parameter);
  }
  void child(const std::string& name, const Module& module) override {
    Walk inner(join_name(prefix_, name), function_);
    module.list(inner);
  }

 private:
  std::string prefix_;
  const Function& function_;
};

}  // namespace

std::string product_formula(const std::vector<Axis>& axes) {
  std::vector<std::string> letters;
  letters.reserve(axes.size());
  for (const Axis& axis : axes) letters.push_back(axis.letter.empty() ? std::to_string(axis.size) : axis.letter);
  std::sort(letters.begin(), letters.end());
  std::string text;
  for (size_t i = 0, next = 0; i < letters.size(); i = next) {
    while (next < letters.size() && letters[next] == letters[i]) ++next;
    text += fmt::format("{}{}{}", i == 0 ? "" : " ", letters[i], next - i > 1 ? fmt::format("^{}", next - i) : "");
  }
  return text;
}

Parameter::Parameter(const std::vector<Axis>& axes, Initialise initialise, float value)
    : Parameter(shape_of(axes), product_formula(axes), std::move(initialise), value) {}

Parameter::Parameter(const Shape& shape, std::string formula, Initialise initialise, float value)
    : state_(std::make_shared<State>()) {
  state_->shape = shape;
  state_->formula = std::move(formula);
  state_->initialise = std::move(initialise);
  state_->value = value;
}

Parameter::Parameter(const Variable& variable) {
  if (!variable.defined()) return;
  std::vector<Axis> axes;
  for (const int64_t size : variable.shape()) axes.emplace_back(size);
  *this = Parameter(axes);
  state_->variable.get([&] { return variable; });
}

void Parameter::initialise(uint64_t seed, const std::string& name) const {
  if (state_->initialise)
    state_->initialise(variable(), seed, name);
  else
    mutable_value().fill(state_->value);
}

Parameter Parameter::matrix(const Axis& rows, const Axis& columns, Initialise initialise) {
  Parameter matrix({rows, columns}, std::move(initialise));
  matrix.state_->is_matrix = true;
  return matrix;
}

void Parameter::hold(const Weight& weight) const {
  require(is_matrix() && weight.is_packed() && weight.shape() == shape(), "Parameter",
          "a weight {} cannot be held by a parameter {}", weight.shape(), shape());
  state_->weight.reset();
  state_->weight.get([&] { return weight; });
  state_->variable.reset();
}

Variable& Parameter::variable() const {
  if (const Weight* weight = state_->weight.find(); weight && weight->is_packed())
    fail("Parameter", "the parameter {} is packed for inference, and is not a variable any more", shape());
  return state_->variable.get(
      [&] { return Variable(Tensor::full(state_->shape, state_->value), {.requires_grad = true}); });
}

const Weight& Parameter::weight() const {
  return state_->weight.get([&] { return Weight(variable()); });
}

Parameter::operator const Weight&() const {
  static const Weight none;
  return defined() ? weight() : none;
}

Parameter::operator const Variable&() const {
  static const Variable none;
  return defined() ? variable() : none;
}

void Module::visit(const std::string& prefix, const ParameterVisitor& visitor) const {
  const auto each = [&](const std::string& name, const Parameter& parameter) {
    visitor(name, parameter.variable());
  };
  Walk walk(prefix, each);
  list(walk);
}

void Module::initialise(const std::string& prefix, uint64_t seed) const {
  const auto each = [&](const std::string& name, const Parameter& parameter) { parameter.initialise(seed, name); };
  Walk walk(prefix, each);
  list(walk);
}

void Module::for_each_parameter(const ParameterFunction& function) const {
  Walk walk("", function);
  list(walk);
}

void Module::pack_for_inference(WeightFormat format, Precision precision) const {
  for_each_parameter([format, precision](const std::string&, const Parameter& parameter) {
    const auto is_done = [&] {
      const Weight& weight = parameter.weight();
      return weight.is_packed() && weight.format() == format && weight.precision() == precision;
    };
    if (parameter.is_matrix() && !is_done()) parameter.hold(Weight::packed(parameter.values(), format, precision));
  });
  release_unused_storage();
}

void Module::train_in(const TrainingNumbers& numbers) const {
  for_each_parameter([&](const std::string&, const Parameter& parameter) {
    if (parameter.is_matrix()) parameter.weight().train_in(numbers);
  });
}

int64_t Module::parameter_count() const {
  int64_t count = 0;
  for_each_parameter([&](const std::string&, const Parameter& p) { count += p.shape().numel(); });
  return count;
}

}  // namespace qkv
