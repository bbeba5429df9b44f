// Compares an op with its formula, forward and backward:
//
//     check_op("multiply", {random_tensor({2, 3}, 1), random_tensor({2, 3}, 2)},
//              [](const Variables& x) { return multiply(x[0], x[1]); },
//              [](const Doubles& x) { return each(x[0], [&](size_t i) { return x[0][i] * x[1][i]; }); });
//
// The formula is written in double precision on flat arrays. The op's value must be the formula's, and its
// gradients those of sum(y * upstream), by central differences of the formula, both relative to the largest number.
// Also, bit for bit: gradients accumulate, a gradient is the same if only it is needed, and all are the same for
// another memory layout of inputs and upstream gradient.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/autograd/variable.h"
#include "qkv/test_support/tensors.h"

namespace qkv::test {

using Variables = std::vector<Variable>;
using Doubles = std::vector<std::vector<double>>;
using Op = std::function<Variable(const Variables&)>;
using Formula = std::function<std::vector<double>(const Doubles&)>;

struct CheckOptions {
  double value = 1e-6, gradient = 4e-6;  // tolerances
  bool strided = true;                   // whether the op takes inputs whose last axis is not contiguous
};

// f(i) for every element of a flat array.
template <class F>
std::vector<double> each(const std::vector<double>& like, F f) {
  std::vector<double> y(like.size());
  for (size_t i = 0; i < y.size(); ++i) y[i] = f(i);
  return y;
}

// The gradient of sum(formula(x) * upstream) with respect to x[n].
inline std::vector<double> central_differences(const Formula& formula, Doubles x, size_t n,
                                               const std::vector<double>& upstream) {
  constexpr double h = 1e-5;
  const auto sum_at = [&](size_t i, double value) {
    x[n][i] = value;
    const std::vector<double> y = formula(x);
    double sum = 0;
    for (size_t j = 0; j < y.size(); ++j) sum += y[j] * upstream[j];
    return sum;
  };
  std::vector<double> gradient(x[n].size());
  for (size_t i = 0; i < gradient.size(); ++i) {
    const double middle = x[n][i], above = sum_at(i, middle + h), below = sum_at(i, middle - h);
    x[n][i] = middle;
    gradient[i] = (above - below) / (2 * h);
  }
  return gradient;
}

// The gradients of a call in which only the inputs that `wanted` names have one.
inline std::vector<Tensor> gradients_of(const std::vector<Tensor>& inputs, const Op& op, const Tensor& upstream,
                                        const std::function<bool(size_t)>& wanted) {
  Variables x;
  for (size_t n = 0; n < inputs.size(); ++n) x.emplace_back(inputs[n], Variable::Options{wanted(n)});
  op(x).backward(upstream);
  std::vector<Tensor> gradients;
  for (const Variable& v : x) gradients.push_back(v.grad());
  return gradients;
}

inline void check_op(const std::string& name, const std::vector<Tensor>& inputs, const Op& op,
                     const Formula& formula, const CheckOptions& options = {}) {
  SCOPED_TRACE(name);
  Variables x;
  Doubles exact;
  std::vector<Tensor> apart;
  for (const Tensor& input : inputs) {
    x.emplace_back(input.clone(), Variable::Options{.requires_grad = true});
    exact.push_back(doubles(input));
    apart.push_back(options.strided ? with_gaps_between_elements(input) : input);
  }
  const Variable y = op(x);
  expect_close(y.value(), formula(exact), options.value, "value");
  const Tensor upstream = random_tensor(y.shape(), 999);
  y.backward(upstream);
  const auto all = [](size_t) { return true; };
  const std::vector<Tensor> elsewhere = gradients_of(apart, op, with_gaps_between_elements(upstream), all);
  Variables recorded;  // without a tape an op may take another path
  for (const Tensor& input : apart) recorded.emplace_back(input, Variable::Options{.requires_grad = true});
  EXPECT_TRUE(same_bits(y.value(), op(recorded).value())) << "strided inputs";
  for (size_t n = 0; n < x.size(); ++n) {
    SCOPED_TRACE("input " + std::to_string(n));
    expect_close(x[n].grad(), central_differences(formula, exact, n, doubles(upstream)), options.gradient,
                 "gradient");
    const auto only = [n](size_t i) { return i == n; };
    EXPECT_TRUE(same_bits(x[n].grad(), elsewhere[n])) << "gradients of strided inputs";
    EXPECT_TRUE(same_bits(x[n].grad(), gradients_of(inputs, op, upstream, only)[n])) << "the only gradient";
  }
  op(x).backward(upstream);
  for (size_t n = 0; n < x.size(); ++n) {
    std::vector<double> twice = doubles(elsewhere[n]);
    for (double& g : twice) g *= 2;
    expect_close(x[n].grad(), twice, 1e-7, "accumulated twice");
  }
}

// The message of the error that a call throws, or "no error".
template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace qkv::test
