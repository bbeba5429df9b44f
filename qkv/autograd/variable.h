// Reverse-mode automatic differentiation: a value, and the tape of how it came about.
//
//     Variable w(Tensor::full({2}, 3.0f), {.requires_grad = true});
//     Variable y = sum(multiply(w, w));
//     y.backward();                            // w.grad() is 2 w = {6, 6}
//
// An op computes its value and hands record() the values it came from and a function from the gradient of its
// output to the gradients of its inputs. backward() visits the recorded nodes from the newest to the oldest, which
// is a topological order, and lets go of each one's memory as it passes. A gradient that reaches a leaf is added to
// what is there: gradients accumulate until zero_grad().
//
// Inside a NoGrad scope nothing is recorded.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "qkv/tensor/tensor.h"

namespace qkv {

class Variable;

// From the gradient of an op's output to those of its inputs, in their order. An undefined tensor stands for zero;
// a gradient that nobody wants (needs[i] is false) may be left undefined.
using Backward = std::function<std::vector<Tensor>(const Tensor& grad, const std::vector<bool>& needs)>;

class Variable {
 public:
  struct Options {
    bool requires_grad = false;
  };

  Variable() = default;
  Variable(Tensor value);  // NOLINT: a constant, implicit on purpose
  Variable(Tensor value, Options options);

  bool defined() const { return node_ != nullptr; }
  const Tensor& value() const;
  Tensor& mutable_value();  // of a leaf: an optimizer writes here; counts as a new version
  const Shape& shape() const { return value().shape(); }
  int64_t dim(int axis) const { return value().dim(axis); }
  bool requires_grad() const;

  const Tensor& grad() const;  // undefined until a backward() has reached this leaf
  Tensor& mutable_grad();
  void zero_grad();  // forgets it: grad() is undefined again

  void backward() const;  // of a scalar
  void backward(const Tensor& upstream) const;

  // How often mutable_value() was called, and a place where an op may keep what it derives from the value of a leaf
  // (the packed form of a weight matrix), to be made again when the version has changed.
  uint64_t version() const;
  std::shared_ptr<void>& derived() const;

  // The same leaf?
  friend bool operator==(const Variable& a, const Variable& b) { return a.node_ == b.node_; }

 private:
  struct Node;
  friend Variable record(std::string_view op, std::vector<Variable> inputs, Tensor value, Backward backward);
  std::shared_ptr<Node> node_;
};

// A new value on the tape. Where recording is off, or no input requires a gradient, only the value is kept.
Variable record(std::string_view op, std::vector<Variable> inputs, Tensor value, Backward backward);

// Whether an op over these inputs will be recorded: an op saves nothing for its backward when it will not.
bool recording(std::span<const Variable> inputs);

// No recording in this thread while one lives.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

}  // namespace qkv
