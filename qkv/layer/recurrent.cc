#include "qkv/layer/recurrent.h"

#include "qkv/attention/cache.h"
#include "qkv/base/error.h"
#include "qkv/op/concatenate.h"
#include "qkv/op/shape.h"
#include "qkv/op/zero_padding.h"

namespace qkv {
namespace {

// Direction d of a state in both directions: its parts h, c are every other part.
Variable direction_of(const Variable& state, int64_t parts, int64_t W, int64_t d) {
  std::vector<Variable> of_direction;
  for (int64_t part = 0; part < parts; ++part)
    of_direction.push_back(slice(state, 1, (2 * part + d) * W, (2 * part + d + 1) * W));
  return concatenate(of_direction, 1);
}

Variable both_directions(const Variable& forward, const Variable& reverse, int64_t parts, int64_t W) {
  std::vector<Variable> both;
  for (int64_t part = 0; part < parts; ++part)
    for (const Variable& state : {forward, reverse}) both.push_back(slice(state, 1, part * W, (part + 1) * W));
  return concatenate(both, 1);
}

// The state at one position, (B,state width).
Variable state_at(const Variable& states, int64_t t) {
  return reshape(slice(states, 1, t, t + 1), {states.dim(0), states.dim(2)});
}

}  // namespace

void RecurrentState::reorder(std::span<const int64_t> source) {
  for (Variable& state : layers) state = gather_rows(state.value(), source);
}

Recurrent::Recurrent(const RecurrentOptions& options) : options_(options) {
  const RecurrentOptions& o = options_;
  require(o.input_width > 0 && o.width > 0 && o.layers > 0, "Recurrent",
          "input_width {}, width {} and layers {} must be positive", o.input_width, o.width, o.layers);
  const Axis W(o.width, "C"), I(o.input_width, o.input_width == o.width ? "C" : "E");
  const Axis both(2 * o.width, "(2 C)");
  layers_.resize(static_cast<size_t>(o.layers));
  for (size_t n = 0; n < layers_.size(); ++n) {
    const Axis& in = n == 0 ? I : o.bidirectional ? both : W;
    layers_[n].cell = make_cell(o.cell, in, W);
    if (o.bidirectional) layers_[n].reverse = make_cell(o.cell, in, W);
  }
}

int64_t Recurrent::state_width() const { return directions() * layers_.front().cell->state_width(); }

RecurrentState Recurrent::start(int64_t rows) const {
  return {std::vector<Variable>(layers_.size(), Variable(Tensor::zeros({rows, state_width()})))};
}

void Recurrent::check(const RecurrentState& state, int64_t rows) const {
  require(state.layers.size() == layers_.size(), "Recurrent", "the state has {} layers, expected {}",
          state.layers.size(), layers_.size());
  for (const Variable& layer : state.layers)
    require(layer.shape() == Shape{rows, state_width()}, "Recurrent",
            "the state of a layer must be (B {}, {}), got {}", rows, state_width(), layer.shape());
}

// The outputs of a layer; `state` becomes the state after the last position.
Variable Recurrent::run(const Layer& layer, const Variable& x, const Tensor& lengths, Variable& state) const {
  const RecurrentCell& cell = *layer.cell;
  const int64_t T = x.dim(1), W = options_.width, parts = cell.state_width() / W;
  const auto outputs_of = [&](const Variable& states) {
    return lengths.defined() ? zero_padding(cell.output(states), lengths) : cell.output(states);
  };
  if (!layer.reverse) {
    const Variable states = cell.forward(x, {.initial = state, .lengths = lengths});
    state = state_at(states, T - 1);
    return outputs_of(states);
  }
  const auto initial = [&](int64_t d) { return state.defined() ? direction_of(state, parts, W, d) : Variable(); };
  const Variable forward = cell.forward(x, {.initial = initial(0), .lengths = lengths});
  const Variable reverse = layer.reverse->forward(x, {.initial = initial(1), .lengths = lengths, .reverse = true});
  state = both_directions(state_at(forward, T - 1), state_at(reverse, 0), parts, W);
  return concatenate({outputs_of(forward), outputs_of(reverse)}, 2);
}

Recurrent::Result Recurrent::forward(const Variable& x, const Tensor& lengths, Pass& pass,
                                     const RecurrentState& initial) const {
  require(x.value().rank() == 3 && x.dim(1) > 0 && x.dim(2) == options_.input_width, "Recurrent",
          "x must be (B,T,I) with T at least 1 and I {}, got {}", options_.input_width, x.shape());
  if (!initial.layers.empty()) check(initial, x.dim(0));
  Result result = {x, initial};
  result.state.layers.resize(layers_.size());
  for (size_t n = 0; n < layers_.size(); ++n) {
    const Variable in = n == 0 ? x : dropout(result.outputs, pass.dropout(options_.dropout));
    result.outputs = run(layers_[n], in, lengths, result.state.layers[n]);
  }
  return result;
}

Variable Recurrent::step(const Variable& x, RecurrentState& state, Pass& pass) const {
  require(!options_.bidirectional, "Recurrent::step", "a network in both directions needs the whole sequence");
  require(x.value().rank() == 2 && x.dim(1) == options_.input_width, "Recurrent::step",
          "x must be (R,I) with I {}, got {}", options_.input_width, x.shape());
  check(state, x.dim(0));
  Variable h = x;
  for (size_t n = 0; n < layers_.size(); ++n) {
    if (n > 0) h = dropout(h, pass.dropout(options_.dropout));
    const RecurrentCell& cell = *layers_[n].cell;
    state.layers[n] = cell.step(h, state.layers[n]);
    h = cell.output(state.layers[n]);
  }
  return h;
}

void Recurrent::Layer::list(ModuleContents& contents) const {
  cell->list(contents);
  if (reverse) contents.child("reverse", *reverse);
}

void Recurrent::list(ModuleContents& contents) const {
  for (size_t n = 0; n < layers_.size(); ++n) contents.child(fmt::format("layers.{}", n), layers_[n]);
}

}  // namespace qkv
