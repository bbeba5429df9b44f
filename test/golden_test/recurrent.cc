// Recurrent networks with the parameters of torch.nn.GRU and torch.nn.LSTM (test/golden/recurrent.py).
#include "qkv/layer/recurrent.h"

#include "qkv/op/concatenate.h"
#include "qkv/op/shape.h"
#include "test/golden_test/case.h"

namespace qkv::golden::recurrent_cases {

// "layers.1.reverse.hidden.bias" -> "bias_hh_l1_reverse"
std::string torch_name(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  const std::string layer = name.substr(7, name.find('.', 7) - 7);
  return fmt::format("{}_{}_l{}{}", has("weight") ? "weight" : "bias", has("input") ? "ih" : "hh", layer,
                     has("reverse") ? "_reverse" : "");
}

// States here are one tensor per layer, [h forward; h reverse; c forward; c reverse]; those of the file h and c,
// (layers times directions, B, W).
Variable layer_state(Case& c, int64_t layer, int64_t directions) {
  std::vector<Variable> parts;
  for (const char* part : {"h0", "c0"})
    for (int64_t n = layer * directions; c.holds(part) && n < (layer + 1) * directions; ++n) {
      const Variable all = c.leaf(part);
      parts.push_back(reshape(slice(all, 0, n, n + 1), {all.dim(1), all.dim(2)}));
    }
  return concatenate(parts, 1);
}

Tensor final_states(const RecurrentState& state, int64_t directions, int64_t W, int64_t part) {
  std::vector<Variable> all;
  for (const Variable& layer : state.layers)
    for (int64_t n = part * directions; n < (part + 1) * directions; ++n)
      all.push_back(reshape(slice(layer, 1, n * W, (n + 1) * W), {1, layer.dim(0), W}));
  return concatenate(all, 0).value();
}

void recurrent(Case& c) {
  c.knows_arguments({"cell", "layers", "bidirectional"});
  const int64_t layers = c.has("layers") ? c.integer("layers") : 1, directions = c.flag("bidirectional") ? 2 : 1;
  const Variable x = c.leaf("x");
  const int64_t W = c.leaf("h0").dim(2);
  const Recurrent network({.cell = value_named<CellKind>(c.text("cell"), "golden", "cell"),
                           .input_width = x.dim(2),
                           .width = W,
                           .layers = layers,
                           .bidirectional = directions == 2});
  network.visit([&](const std::string& name, Variable& p) { p = c.leaf(torch_name(name)); });
  RecurrentState initial;
  for (int64_t n = 0; n < layers; ++n) initial.layers.push_back(layer_state(c, n, directions));
  const Tensor lengths = c.holds("lengths") ? c.tensor("lengths") : Tensor();
  Pass pass;
  const auto [out, state] = network.forward(x, lengths, pass, initial);
  c.compare("out", out.value());
  c.compare("h_n", final_states(state, directions, W, 0));
  if (c.holds("c_n")) c.compare("c_n", final_states(state, directions, W, 1));
  c.no_other_inputs();
  c.backward(out);
}

const Group group("recurrent", recurrent);

}  // namespace qkv::golden::recurrent_cases
