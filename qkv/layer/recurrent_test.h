// For the tests of recurrent layers: a layer against its formula in double precision, in its inputs and all its
// parameters.
//
//     check_layer(layer, {x, state}, [&](const Variables& v) { return layer.step(v[0], v[1]); },
//                 [](const Doubles& v, const LayerNumbers& p) { return p.gru("", v[0], v[1]); });
//
// A formula is of rows: flat arrays whose parameters are looked up by name.
#pragma once

#include <cmath>
#include <map>

#include "qkv/layer/layer_test.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::test {

using Row = std::vector<double>;

inline Row row_of(const Row& rows, int64_t row, int64_t width) {
  return {rows.begin() + row * width, rows.begin() + (row + 1) * width};
}
inline Row joined(Row a, const Row& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct LayerNumbers {
  std::map<std::string, Row> parameters;

  Row product(const std::string& name, const Row& x) const {
    const Row& w = parameters.at(name);
    Row y(w.size() / x.size());
    for (size_t i = 0; i < w.size(); ++i) y[i / x.size()] += w[i] * x[i % x.size()];
    return y;
  }
  Row linear(const std::string& name, const Row& x) const {  // with its bias, if it has one
    Row y = product(name + ".weight", x);
    if (const auto bias = parameters.find(name + ".bias"); bias != parameters.end())
      for (size_t i = 0; i < y.size(); ++i) y[i] += bias->second[i];
    return y;
  }
  Row gru(const std::string& cell, const Row& x, const Row& h) const {
    const Row a = linear(join_name(cell, "input"), x), u = linear(join_name(cell, "hidden"), h);
    const size_t W = h.size();
    return each(h, [&](size_t i) {
      const double r = sigmoid(a[i] + u[i]), z = sigmoid(a[W + i] + u[W + i]);
      return (1 - z) * std::tanh(a[2 * W + i] + r * u[2 * W + i]) + z * h[i];
    });
  }
  Row lstm(const std::string& cell, const Row& x, const Row& state) const {  // [h; c]
    const size_t W = state.size() / 2;
    const Row a = linear(join_name(cell, "input"), x),
              u = linear(join_name(cell, "hidden"), row_of(state, 0, static_cast<int64_t>(W)));
    Row next(2 * W);
    for (size_t k = 0; k < W; ++k) {
      const auto gate = [&](size_t n) { return a[n * W + k] + u[n * W + k]; };
      next[W + k] = sigmoid(gate(1)) * state[W + k] + sigmoid(gate(0)) * std::tanh(gate(2));
      next[k] = sigmoid(gate(3)) * std::tanh(next[W + k]);
    }
    return next;
  }
  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
};

inline double dot_of(const Row& a, const Row& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// sum_j softmax(scores)_j factor_j values_j; values: rows.
inline Row average_of(const std::vector<Row>& values, const Row& scores, const Row& factors) {
  double total = 0;
  for (const double score : scores) total += std::exp(score);
  Row sum(values.front().size());
  for (size_t j = 0; j < scores.size(); ++j)
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += std::exp(scores[j]) / total * factors[j] * values[j][i];
  return sum;
}

using LayerFormula = std::function<Row(const Doubles& inputs, const LayerNumbers& parameters)>;

inline void check_layer(const Module& layer, const std::vector<Tensor>& inputs, const Op& run,
                        const LayerFormula& formula) {
  Variables leaves;
  Doubles numbers;
  for (const Tensor& input : inputs) leaves.emplace_back(input.clone(), Variable::Options{.requires_grad = true});
  const Variable y = run(leaves);
  std::vector<std::string> names;
  layer.visit("", [&](const std::string& name, Variable& p) {
    names.push_back(name);
    leaves.push_back(p);
    leaves.back().zero_grad();
  });
  for (const Variable& leaf : leaves) numbers.push_back(doubles(leaf.value()));
  const Formula flat = [&](const Doubles& x) {
    LayerNumbers p;
    for (size_t n = 0; n < names.size(); ++n) p.parameters[names[n]] = x[inputs.size() + n];
    return formula({x.begin(), x.begin() + static_cast<int64_t>(inputs.size())}, p);
  };
  expect_close(y.value(), flat(numbers), 4e-6, "value");
  const Tensor upstream = random_tensor(y.shape(), 999);
  y.backward(upstream);
  for (size_t n = 0; n < leaves.size(); ++n) {
    const std::string name = n < inputs.size() ? "input " + std::to_string(n) : names[n - inputs.size()];
    ASSERT_TRUE(leaves[n].grad().defined()) << name;
    expect_close(leaves[n].grad(), central_differences(flat, numbers, n, doubles(upstream)), 2e-5,
                 "gradient of " + name);
  }
}

}  // namespace qkv::test
