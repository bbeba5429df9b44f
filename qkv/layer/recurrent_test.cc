#include "qkv/layer/recurrent.h"

#include "qkv/base/threads.h"
#include "qkv/layer/recurrent_test.h"
#include "qkv/op/concatenate.h"
#include "qkv/op/shape.h"

namespace qkv::recurrent_test {

using namespace test;

constexpr int64_t B = 3, T = 4, I = 3, W = 2;
const std::vector<int32_t> lengths = {4, 2, 0};
const Tensor row_lengths = Tensor::from(lengths, {B});

std::vector<RecurrentOptions> all_options() {
  std::vector<RecurrentOptions> all;
  for (const CellKind cell : {CellKind::gru, CellKind::lstm})
    for (const int64_t layers : {1, 2})
      for (const bool bidirectional : {false, true})
        all.push_back(
            {.cell = cell, .input_width = I, .width = W, .layers = layers, .bidirectional = bidirectional});
  return all;
}

std::string name_of(const RecurrentOptions& o) {
  return fmt::format("{}, {} layers, {}", name_of(o.cell), o.layers,
                     o.bidirectional ? "both directions" : "forward");
}

// The outputs (T rows) of one layer in one direction for one row; `state` becomes the final one.
std::vector<Row> direction(const RecurrentOptions& o, const LayerNumbers& p, const std::string& cell, bool reverse,
                           const std::vector<Row>& x, int32_t length, Row& state) {
  std::vector<Row> outputs(T, Row(W));
  for (int32_t step = 0; step < length; ++step) {
    const auto t = static_cast<size_t>(reverse ? length - 1 - step : step);
    state = o.cell == CellKind::gru ? p.gru(cell, x[t], state) : p.lstm(cell, x[t], state);
    outputs[t] = row_of(state, 0, W);
  }
  return outputs;
}

// Part d of every part of a state in both directions, and back.
Row part_of(const Row& state, int64_t d, int64_t directions) {
  Row part;
  for (size_t i = 0; i < state.size(); ++i)
    if (static_cast<int64_t>(i) / W % directions == d) part.push_back(state[i]);
  return part;
}

// Inputs: x, then the initial state of every layer. The outputs, then the states.
Row formula(const RecurrentOptions& o, const Doubles& v, const LayerNumbers& p) {
  const int64_t directions = o.bidirectional ? 2 : 1, P = o.cell == CellKind::gru ? 1 : 2;
  const int64_t state_width = directions * P * W;
  Row outputs;
  Doubles states(static_cast<size_t>(o.layers));
  for (int64_t b = 0; b < B; ++b) {
    std::vector<Row> x;
    for (int64_t t = 0; t < T; ++t) x.push_back(row_of(v[0], b * T + t, I));
    for (int64_t n = 0; n < o.layers; ++n) {
      const std::string name = fmt::format("layers.{}", n);
      const Row initial = row_of(v[1 + n], b, state_width);
      Row forward = part_of(initial, 0, directions), reverse = part_of(initial, 1, directions);
      const std::vector<Row> there = direction(o, p, name, false, x, lengths[b], forward);
      const std::vector<Row> back =
          o.bidirectional ? direction(o, p, name + ".reverse", true, x, lengths[b], reverse) : std::vector<Row>(T);
      for (int64_t t = 0; t < T; ++t) x[t] = joined(there[t], back[t]);
      for (int64_t part = 0; part < P; ++part) {
        states[n] = joined(states[n], row_of(forward, part, W));
        if (o.bidirectional) states[n] = joined(states[n], row_of(reverse, part, W));
      }
    }
    for (const Row& row : x) outputs = joined(outputs, row);
  }
  for (const Row& state : states) outputs = joined(outputs, state);
  return outputs;
}

Variable flat(const Variable& x) { return reshape(x, {x.value().numel()}); }

TEST(Recurrent, AppliesItsCellsInBothDirectionsAndAllLayers) {
  for (const RecurrentOptions& o : all_options()) {
    SCOPED_TRACE(name_of(o));
    Recurrent layer(o);
    randomise(layer, 1);
    std::vector<Tensor> inputs = {random_tensor({B, T, I}, 1)};
    for (int64_t n = 0; n < o.layers; ++n)
      inputs.push_back(random_tensor({B, layer.state_width()}, static_cast<uint64_t>(10 + n)));
    check_layer(
        layer, inputs,
        [&](const Variables& v) {
          Pass pass;
          const auto [outputs, state] =
              layer.forward(v[0], row_lengths, pass, {std::vector<Variable>(v.begin() + 1, v.end())});
          Variables all = {flat(outputs)};
          for (const Variable& s : state.layers) all.push_back(flat(s));
          return concatenate(all, 0);
        },
        [&](const Doubles& v, const LayerNumbers& p) { return formula(o, v, p); });
  }
}

TEST(Recurrent, BeginsWithZeros) {
  for (const RecurrentOptions& o : all_options()) {
    Recurrent layer(o);
    randomise(layer, 2);
    const Tensor x = random_tensor({B, T, I}, 2);
    Pass pass;
    EXPECT_TRUE(same_bits(layer.forward(x, row_lengths, pass).outputs.value(),
                          layer.forward(x, row_lengths, pass, layer.start(B)).outputs.value()));
  }
}

TEST(Recurrent, StepsHaveTheBitsOfTheWhole) {
  for (RecurrentOptions o : all_options()) {
    if (o.bidirectional) continue;
    SCOPED_TRACE(name_of(o));
    o.width = 19;
    Recurrent layer(o);
    randomise(layer, 3);
    const Tensor x = random_tensor({B, 7, I}, 3);
    Pass pass;
    const auto whole = layer.forward(x, {}, pass);
    RecurrentState state = layer.start(B);
    for (int64_t t = 0; t < 7; ++t) {
      const Tensor y = layer.step(x.select(1, t), state, pass).value();
      EXPECT_TRUE(same_bits(y, whole.outputs.value().select(1, t))) << t;
    }
    for (size_t n = 0; n < state.layers.size(); ++n)
      EXPECT_TRUE(same_bits(state.layers[n].value(), whole.state.layers[n].value()));
  }
}

TEST(Recurrent, ARowDependsNeitherOnPaddingNorOnItsNeighbours) {
  for (RecurrentOptions o : all_options()) {
    SCOPED_TRACE(name_of(o));
    o.width = 19;
    Recurrent layer(o);
    randomise(layer, 4);
    Tensor x = random_tensor({B, T, I}, 4);
    x.slice(0, 1, 2).slice(1, 2, T).fill(NAN);
    Pass pass;
    const auto batch = layer.forward(x, row_lengths, pass);
    const auto alone = layer.forward(x.slice(0, 1, 2).slice(1, 0, 2), {}, pass);
    const Tensor row = batch.outputs.value().slice(0, 1, 2);
    EXPECT_TRUE(same_bits(row.slice(1, 0, 2), alone.outputs.value()));
    EXPECT_TRUE(same_bits(row.slice(1, 2, T), Tensor::zeros({1, T - 2, layer.output_width()})));
    for (size_t n = 0; n < batch.state.layers.size(); ++n) {
      const Tensor state = batch.state.layers[n].value();
      EXPECT_TRUE(same_bits(state.slice(0, 1, 2), alone.state.layers[n].value()));
      EXPECT_TRUE(same_bits(state.slice(0, 2, 3), Tensor::zeros({1, layer.state_width()}))) << "an empty row";
    }
  }
}

TEST(Recurrent, HasTheSameBitsOnAnyNumberOfThreads) {
  const int before = threads();
  Recurrent layer({.cell = CellKind::lstm, .input_width = 20, .width = 40, .layers = 2, .bidirectional = true});
  randomise(layer, 5);
  const auto run = [&](int count) {
    set_threads(count);
    layer.visit([](const std::string&, Variable& p) { p.zero_grad(); });
    Pass pass;
    const Variable y = layer.forward(random_tensor({33, 9, 20}, 5), {}, pass).outputs;
    y.backward(random_tensor(y.shape(), 6));
    std::vector<Tensor> all = {y.value()};
    layer.visit([&](const std::string&, Variable& p) { all.push_back(p.grad().clone()); });
    return all;
  };
  const std::vector<Tensor> one = run(1), two = run(2);
  for (size_t n = 0; n < one.size(); ++n) EXPECT_TRUE(same_bits(one[n], two[n])) << n;
  set_threads(before);
}

TEST(RecurrentState, ReordersRepeatsAndDropsRows) {
  Recurrent layer({.cell = CellKind::lstm, .input_width = I, .width = 5, .layers = 2});
  randomise(layer, 6);
  const Tensor x = random_tensor({B, T, I}, 7), next = random_tensor({1, I}, 8);
  Pass pass;
  RecurrentState state = layer.forward(x, {}, pass).state;
  state.reorder(std::vector<int64_t>{2, 2, 0, 1});
  const Tensor y = layer.step(next.expand({4, I}), state, pass).value();
  for (const auto& [row, from] : {std::pair(0, 2), {1, 2}, {2, 0}, {3, 1}}) {
    RecurrentState alone = layer.forward(x.slice(0, from, from + 1), {}, pass).state;
    EXPECT_TRUE(same_bits(y.slice(0, row, row + 1), layer.step(next, alone, pass).value())) << row;
  }
  state.reorder(std::vector<int64_t>{3});
  EXPECT_EQ(state.layers[0].shape(), (Shape{1, 10}));
}

TEST(Recurrent, DropsOutputsBetweenLayersInTrainingOnly) {
  Recurrent layer({.input_width = I, .width = 8, .layers = 3, .dropout = 0.5f});
  randomise(layer, 7);
  const Tensor x = random_tensor({B, T, I}, 9);
  Pass testing, training{.training = true, .seed = 1};
  const Tensor plain = layer.forward(x, {}, testing).outputs.value();
  EXPECT_GT(largest_difference(layer.forward(x, {}, training).outputs.value(), plain), 1e-3);
  EXPECT_EQ(training.dropouts, 2u);
  RecurrentState state = layer.start(B);
  layer.step(x.select(1, 0), state, training);
  EXPECT_EQ(training.dropouts, 4u);
}

TEST(Recurrent, NamesItsParameters) {
  Recurrent layer({.input_width = I, .width = W, .layers = 2, .bidirectional = true});
  const auto names = names_of(layer, "encoder");
  ASSERT_EQ(names.size(), 16u);
  EXPECT_EQ(names[0], "encoder.layers.0.input.weight");
  EXPECT_EQ(names[4], "encoder.layers.0.reverse.input.weight");
  EXPECT_EQ(names[15], "encoder.layers.1.reverse.hidden.bias");
  EXPECT_EQ(layer.parameter_count(), 2 * 6 * (I + W + 2) + 2 * 6 * (2 * W + W + 2));
}

TEST(Recurrent, SaysWhatIsWrong) {
  Pass pass;
  Recurrent one({.input_width = I, .width = W}), both({.input_width = I, .width = W, .bidirectional = true});
  RecurrentState state = one.start(2), other = both.start(2);
  EXPECT_EQ(error_of([] { Recurrent({.input_width = 3, .width = 0}); }),
            "Recurrent: input_width 3, width 0 and layers 1 must be positive");
  EXPECT_EQ(error_of([&] {
              one.forward(Tensor::zeros({2, 0, I}), {}, pass);
            }),
            "Recurrent: x must be (B,T,I) with T at least 1 and I 3, got (2, 0, 3)");
  EXPECT_EQ(error_of([&] {
              one.step(Tensor::zeros({2, 2}), state, pass);
            }),
            "Recurrent::step: x must be (R,I) with I 3, got (2, 2)");
  EXPECT_EQ(error_of([&] {
              one.step(Tensor::zeros({3, I}), state, pass);
            }),
            "Recurrent: the state of a layer must be (B 3, 2), got (2, 2)");
  EXPECT_EQ(error_of([&] {
              both.step(Tensor::zeros({2, I}), other, pass);
            }),
            "Recurrent::step: a network in both directions needs the whole sequence");
  state.layers.push_back(state.layers[0]);
  EXPECT_EQ(error_of([&] {
              one.step(Tensor::zeros({2, I}), state, pass);
            }),
            "Recurrent: the state has 2 layers, expected 1");
}

}  // namespace qkv::recurrent_test
