// A recurrent network: layers of Gru or Lstm over a padded batch, in one direction or in both (Schuster and Paliwal,
// "Bidirectional Recurrent Neural Networks", 1997).
//
//     Recurrent encoder({.cell = CellKind::gru, .input_width = 256, .width = 512, .bidirectional = true});
//     auto [outputs, state] = encoder.forward(x, lengths, pass);        // x (B,S,256), outputs (B,S,1024)
//
//     Recurrent decoder({.cell = CellKind::lstm, .input_width = 256, .width = 512, .layers = 2});
//     RecurrentState state = decoder.start(R);
//     Variable h = decoder.step(x_t, state, pass);                      // x_t (R,256), h (R,512): the next position
//
// Shapes: x (B,T,I), lengths (B) i32 or none, outputs (B,T,W), in both directions (B,T,2W): [forward; reverse]. Outputs
// after the end of a row are zero. The state of a layer is the one after each row's last position (of the reverse
// direction: its first): h (B,W), or [h; c] (B,2W); in both directions [h forward; h reverse; c forward; c reverse]. A
// row has the same bits whatever its padding and its neighbours; a step has those of the same position of the whole.
// Dropout: between layers, of the outputs (Zaremba et al., "Recurrent Neural Network Regularization", 2014).
// Parameters: layers.0, ... and, of the reverse direction, layers.0.reverse, ...: cells (recurrent_cell.h).
// Errors: shapes that do not fit; T = 0; steps in both directions.
#pragma once

#include <span>

#include "qkv/layer/pass.h"
#include "qkv/layer/recurrent_cell.h"

namespace qkv {

struct RecurrentOptions {
  CellKind cell = CellKind::gru;
  int64_t input_width = 0, width = 0;  // I, W
  int64_t layers = 1;
  bool bidirectional = false;
  float dropout = 0.0f;  // between layers
};

struct RecurrentState {
  std::vector<Variable> layers = {};

  // Row b continues row source[b], as AttentionCache: rows may be repeated, dropped and reordered. For decoding: no
  // gradient flows through it.
  void reorder(std::span<const int64_t> source);
};

class Recurrent final : public Module {
 public:
  struct Result {
    Variable outputs;
    RecurrentState state;
  };

  explicit Recurrent(const RecurrentOptions& options);

  // Without an initial state, zeros.
  Result forward(const Variable& x, const Tensor& lengths, Pass& pass, const RecurrentState& initial = {}) const;
  Variable step(const Variable& x, RecurrentState& state, Pass& pass) const;
  RecurrentState start(int64_t rows) const;  // zeros

  int64_t output_width() const { return directions() * options_.width; }
  int64_t state_width() const;  // of a layer
  void list(ModuleContents& contents) const override;

 private:
  struct Layer final : Module {
    std::unique_ptr<RecurrentCell> cell, reverse;  // reverse: in both directions only
    void list(ModuleContents& contents) const override;
  };
  int64_t directions() const { return options_.bidirectional ? 2 : 1; }
  void check(const RecurrentState& state, int64_t rows) const;
  Variable run(const Layer& layer, const Variable& x, const Tensor& lengths, Variable& state) const;

  RecurrentOptions options_;
  std::vector<Layer> layers_;
};

}  // namespace qkv
