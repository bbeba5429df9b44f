// Reverse-mode automatic differentiation: a value, and the tape of operations that computed it.
//
//     Variable w(Tensor::full({2}, 3.0f), {.requires_grad = true});
//     Variable y = sum(multiply(w, w));
//     y.backward();                            // w.grad() is 2 w = {6, 6}
//
// An op computes its value and calls record() with its inputs and a function from the gradient of its output to the
// gradients of its inputs. backward() visits the recorded nodes from the newest to the oldest, which is a
// topological order, and frees what each saved. A gradient that reaches a leaf is added to its gradient: gradients
// accumulate until zero_grad().
//
// Inside a NoGrad scope nothing is recorded. Errors: backward() of more than one number without an
// upstream gradient, of a value none of whose inputs requires a gradient, or twice on the same values.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "qkv/tensor/tensor.h"

namespace qkv {

class Variable;

// From the gradient of the output of an op to those of its inputs, in their order. An undefined tensor means zero;
// a gradient that is not needed (needs[i] is false) may be left undefined.
using Backward = std::function<std::vector<Tensor>(const Tensor& grad, const std::vector<bool>& needs)>;

// Adds the gradient of an input to what the input has received so far, zeros at first: of a large table of which an op uses few
// rows.
using AddGradient = std::function<void(const Tensor& grad, Tensor& sum)>;

// Computes the value of an op again, bit for bit, from what the op keeps for its backward.
using Recomputation = std::function<Tensor()>;

class Variable {
 public:
  struct Options {
    bool requires_grad = false;
  };

  Variable() = default;
  Variable(Tensor value);  // NOLINT: a constant, implicit on purpose
  Variable(Tensor value, Options options);

  bool defined() const { return node_ || constant_.defined(); }
  const Tensor& value() const&;
  Tensor value() &&;        // moved out of a constant
  Tensor& mutable_value();  // of a leaf, for optimizers; increments the version
  const Shape& shape() const { return value().shape(); }
  int64_t dim(int axis) const { return value().dim(axis); }
  bool requires_grad() const;

  const Tensor& grad() const;  // undefined until a backward() has reached this leaf
  Tensor& mutable_grad();
  void zero_grad();  // grad() is undefined again

  void backward() const;  // of a scalar
  void backward(const Tensor& upstream) const;
  // Of a scalar; calls complete(i) for each of these leaves, once nothing more will be added to its gradient: while the
  // gradients of others are still to come. What recompute() uses without taking it as an input is not seen.
  void backward(std::span<const Variable> leaves, const std::function<void(size_t)>& complete) const;

  // Of a recorded result whose op has said how: an op that would keep the value for its own backward keeps this, and the
  // value is freed. Empty for others, and after the backward of the op.
  const Recomputation& recomputation() const;
  Variable recomputed_by(Recomputation recomputation) &&;  // the result of record(), if it was recorded

  // Of the result of record(): the first input gets its gradient from `add`, and none from the backward of the op.
  Variable adding_to_first(AddGradient add) &&;

  // The number of calls of mutable_value(): what was derived from the value of a leaf is valid for one version.
  uint64_t version() const;

  // Whether both are the same leaf or result, or constants that are the same view of the same numbers.
  friend bool operator==(const Variable& a, const Variable& b);

 private:
  struct Node;
  struct Gradient;
  class Uses;
  void run_backward(const Tensor& upstream, Uses* uses) const;
  friend Variable record_node(std::string_view op, std::span<const Variable> inputs, Tensor value,
                              Backward backward);

  // Copies of a variable share its node. A constant, such as any result where nothing is recorded, has none: a decoding step
  // makes hundreds.
  Tensor constant_;
  std::shared_ptr<Node> node_;
};

// A variable in a list of inputs, which is not copied.
class Input {
 public:
  Input(const Variable& variable) : variable_(&variable) {}  // NOLINT: implicit on purpose
  operator const Variable&() const { return *variable_; }    // NOLINT

 private:
  const Variable* variable_;
};

// Whether an op on these inputs will be recorded; if not, it need not save anything for its backward. Without inputs: whether
// an op on a variable that requires a gradient would be.
bool recording(std::span<const Variable> inputs);
bool recording(std::initializer_list<Input> inputs);
bool recording();

Variable record_node(std::string_view op, std::span<const Variable> inputs, Tensor value, Backward backward);

// For a Backward that computes each number from the one in the same place: the memory of the gradient where no other tensor has
// it, else new memory.
Tensor in_place_or_empty(const Tensor& grad);

// A new value on the tape. If recording is off or no input requires a gradient, only the value is stored, and no memory
// is allocated for the rest. An input that is undefined is a constant. The tape keeps the values that `backward` has
// captured, not those of the inputs.
template <class F>
Variable record(std::string_view op, std::span<const Variable> inputs, Tensor value, F&& backward) {
  if (!recording(inputs)) return Variable(std::move(value));
  return record_node(op, inputs, std::move(value), Backward(std::forward<F>(backward)));
}
template <class F>
Variable record(std::string_view op, std::initializer_list<Input> inputs, Tensor value, F&& backward) {
  if (!recording(inputs)) return Variable(std::move(value));
  const std::vector<Variable> copies(inputs.begin(), inputs.end());
  return record_node(op, copies, std::move(value), Backward(std::forward<F>(backward)));
}

// Turns recording off in this thread while it is in scope.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

// Turns it on, such as in a function that backward() calls.
class WithGrad {
 public:
  WithGrad();
  ~WithGrad();
  WithGrad(const WithGrad&) = delete;
  WithGrad& operator=(const WithGrad&) = delete;

 private:
  bool before_;
};

}  // namespace qkv
