// gru() and lstm(): their formulas, and their guarantees on padding, direction and neighbours.
#include <cmath>

#include "qkv/op/concatenate.h"
#include "qkv/op/gru.h"
#include "qkv/op/lstm.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::recurrence_test {

using namespace test;

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

struct Sizes {
  int64_t B, T, W;
  std::vector<int32_t> lengths;
  bool reverse = false;
};

struct Cell {
  const char* name;
  int64_t gates, parts;
  Variable (*op)(const Variable&, const Weight&, const Variable&, const RecurrenceOptions&);
  // The new state from the input and w h + b of a position, and the state before.
  std::vector<double> (*step)(const std::vector<double>& x, const std::vector<double>& u,
                              const std::vector<double>& state);
};

std::vector<double> gru_step(const std::vector<double>& x, const std::vector<double>& u,
                             const std::vector<double>& state) {
  const size_t W = state.size();
  return each(state, [&](size_t i) {
    const double r = sigmoid_of(x[i] + u[i]), z = sigmoid_of(x[W + i] + u[W + i]);
    return (1 - z) * std::tanh(x[2 * W + i] + r * u[2 * W + i]) + z * state[i];
  });
}

std::vector<double> lstm_step(const std::vector<double>& x, const std::vector<double>& u,
                              const std::vector<double>& state) {
  const size_t W = state.size() / 2;
  std::vector<double> after(2 * W);
  for (size_t k = 0; k < W; ++k) {
    const auto a = [&](size_t gate) { return x[gate * W + k] + u[gate * W + k]; };
    after[W + k] = sigmoid_of(a(1)) * state[W + k] + sigmoid_of(a(0)) * std::tanh(a(2));
    after[k] = sigmoid_of(a(3)) * std::tanh(after[W + k]);
  }
  return after;
}

const Cell cells[] = {{"gru", 3, 1, gru, gru_step}, {"lstm", 4, 2, lstm, lstm_step}};

// Inputs: input, w, b, initial, flat.
std::vector<double> formula(const Cell& cell, const Sizes& n, const Doubles& x) {
  const int64_t G = cell.gates * n.W, P = cell.parts * n.W;
  std::vector<double> y(static_cast<size_t>(n.B * n.T * P));
  for (int64_t b = 0; b < n.B; ++b) {
    std::vector<double> state(x[3].begin() + b * P, x[3].begin() + (b + 1) * P);
    for (int64_t step = 0; step < n.T; ++step) {
      const int64_t t = n.reverse ? n.T - 1 - step : step;
      std::vector<double> u = x[2];
      for (int64_t row = 0; row < G; ++row)
        for (int64_t i = 0; i < n.W; ++i) u[row] += x[1][row * n.W + i] * state[i];
      const auto at = x[0].begin() + (b * n.T + t) * G;
      if (t < n.lengths[b]) state = cell.step({at, at + G}, u, state);
      std::copy(state.begin(), state.end(), y.begin() + (b * n.T + t) * P);
    }
  }
  return y;
}

std::vector<Tensor> inputs(const Cell& cell, const Sizes& n) {
  return {random_tensor({n.B, n.T, cell.gates * n.W}, 1), random_tensor({cell.gates * n.W, n.W}, 2, 0.5),
          random_tensor({cell.gates * n.W}, 3, 0.5), random_tensor({n.B, cell.parts * n.W}, 4)};
}

RecurrenceOptions options(const Sizes& n, const Variable& initial) {
  return {.initial = initial, .lengths = Tensor::from(n.lengths, {n.B}), .reverse = n.reverse};
}

TEST(Recurrence, EqualsItsFormula) {
  for (const Cell& cell : cells)
    for (const Sizes& n : {Sizes{1, 1, 1, {1}}, {3, 4, 5, {4, 4, 4}}, {4, 5, 3, {2, 5, 0, 4}}, {2, 0, 3, {0, 0}}})
      for (const bool reverse : {false, true}) {
        Sizes sizes = n;
        sizes.reverse = reverse;
        check_op(
            cell.name, inputs(cell, n),
            [&](const Variables& x) { return cell.op(x[0], x[1], x[2], options(sizes, x[3])); },
            [&](const Doubles& x) { return formula(cell, sizes, x); }, {.value = 2e-6, .gradient = 1e-5});
      }
}

TEST(Recurrence, HasNoInitialStateAndNoBiasByDefault) {
  const Sizes n = {2, 3, 4, {3, 3}};
  for (const Cell& cell : cells) {
    const std::vector<Tensor> all = inputs(cell, n);
    check_op(
        cell.name, {all[0], all[1]}, [&](const Variables& x) { return cell.op(x[0], x[1], {}, {}); },
        [&](const Doubles& x) {
          return formula(cell, n, {x[0], x[1], std::vector<double>(16), std::vector<double>(16)});
        },
        {.value = 2e-6, .gradient = 1e-5});
    check_op(
        "initial state without bias", {all[0], all[1], all[3]},
        [&](const Variables& x) { return cell.op(x[0], x[1], {}, {.initial = x[2]}); },
        [&](const Doubles& x) {
          return formula(cell, n, {x[0], x[1], std::vector<double>(16), x[2]});
        },
        {.value = 2e-6, .gradient = 1e-5});
  }
}

TEST(Recurrence, PositionByPositionHasTheBitsOfTheWholeSequence) {
  const Sizes n = {3, 6, 20, {6, 6, 6}};
  for (const Cell& cell : cells) {
    const std::vector<Tensor> x = inputs(cell, n);
    const Tensor whole = cell.op(x[0], x[1], x[2], {.initial = x[3]}).value();
    Variable state = x[3];
    for (int64_t t = 0; t < n.T; ++t) {
      const Variable y = cell.op(x[0].slice(1, t, t + 1), x[1], x[2], {.initial = state});
      EXPECT_TRUE(same_bits(y.value(), whole.slice(1, t, t + 1))) << cell.name << " " << t;
      state = y.value().select(1, 0);
    }
  }
}

// Row 1 of a batch, and the same row alone, without padding: value and gradients.
TEST(Recurrence, ARowDependsNeitherOnPaddingNorOnItsNeighbours) {
  for (const Cell& cell : cells)
    for (const bool reverse : {false, true}) {
      const Sizes n = {3, 7, 33, {2, 4, 7}, reverse};
      std::vector<Tensor> x = inputs(cell, n);
      x[0].slice(0, 1, 2).slice(1, 4, 7).fill(NAN);  // padding is not read
      const Tensor upstream = random_tensor({3, 7, cell.parts * n.W}, 5);
      Tensor only_real = upstream.clone();
      only_real.slice(0, 1, 2).slice(1, 4, 7).fill(0);
      const auto run = [&](const Tensor& input, const Tensor& initial, const Sizes& sizes, const Tensor& dy) {
        const Variable in(input.clone(), {.requires_grad = true}), from(initial.clone(), {.requires_grad = true});
        const Variable y = cell.op(in, x[1], x[2], options(sizes, from));
        y.backward(dy);
        return std::vector<Tensor>{y.value(), in.grad(), from.grad()};
      };
      const auto batch = run(x[0], x[3], n, only_real);
      const auto alone = run(x[0].slice(0, 1, 2).slice(1, 0, 4), x[3].slice(0, 1, 2), {1, 4, 33, {4}, reverse},
                             only_real.slice(0, 1, 2).slice(1, 0, 4).clone());
      for (size_t i = 0; i < 2; ++i)
        EXPECT_TRUE(same_bits(batch[i].slice(0, 1, 2).slice(1, 0, 4), alone[i])) << cell.name << " " << i;
      EXPECT_TRUE(same_bits(batch[2].slice(0, 1, 2), alone[2])) << cell.name;
      const Tensor padding = batch[0].slice(0, 1, 2).slice(1, 4, 7);
      const Tensor carried = reverse ? x[3].slice(0, 1, 2).reshape({1, 1, x[3].dim(1)}) : alone[0].slice(1, 3, 4);
      EXPECT_TRUE(same_bits(padding, carried.expand(padding.shape()).clone())) << "carried through unchanged";
      const Tensor dpadding = batch[1].slice(0, 1, 2).slice(1, 4, 7);
      EXPECT_TRUE(same_bits(dpadding, Tensor::zeros(dpadding.shape())));
    }
}

TEST(Recurrence, RejectsShapesThatDoNotFit) {
  const Tensor x = Tensor::zeros({2, 3, 12}), w = Tensor::zeros({12, 4});
  EXPECT_EQ(error_of([&] { gru(x, Tensor::zeros({12, 3}), {}); }), "gru: w must be (3 W, W), got (12, 3)");
  EXPECT_EQ(error_of([&] {
              lstm(x, Tensor::zeros({16, 4}), {});
            }),
            "lstm: the input must be (B,T,4 W) with W 4, got (2, 3, 12)");
  EXPECT_EQ(error_of([&] { gru(x, w, Tensor::zeros({4})); }), "gru: w is (12, 4), b must be (3 W), got (4)");
  EXPECT_EQ(error_of([&] {
              gru(x, w, {}, {.initial = Tensor::zeros({2, 8})});
            }),
            "gru: the initial state must be (B 2, 4), got (2, 8)");
  EXPECT_EQ(error_of([&] {
              gru(x, w, {}, {.lengths = Tensor::from(std::vector<int32_t>{1, 4}, {2})});
            }),
            "gru: lengths must be 0 to T 3, got 4");
}

}  // namespace qkv::recurrence_test
