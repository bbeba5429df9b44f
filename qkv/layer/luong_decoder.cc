#include "qkv/layer/luong_decoder.h"

#include "qkv/attention/cache.h"
#include "qkv/base/error.h"
#include "qkv/op/activation.h"
#include "qkv/op/concatenate.h"
#include "qkv/op/shape.h"

namespace qkv {

LuongDecoder::LuongDecoder(const LuongDecoderOptions& o)
    : stack({.cell = CellKind::lstm,
             .input_width = o.embedding_width + o.width,
             .width = o.width,
             .layers = o.layers,
             .dropout = o.dropout}),
      attention({.width = o.width, .encoder_width = o.encoder_width, .variant = o.variant}),
      combine(o.encoder_width + o.width, {o.width, "C"}, /*bias=*/false),
      options_(o) {
  require(o.embedding_width > 0, "LuongDecoder", "embedding_width must be positive, got {}", o.embedding_width);
}

void LuongDecoder::State::reorder(std::span<const int64_t> source) {
  stack.reorder(source);
  attentional = gather_rows(attentional.value(), source);
}

LuongDecoder::Memory LuongDecoder::memory(const Variable& encoded, const std::vector<int32_t>& lengths) const {
  return attention.memory(encoded, lengths);
}

LuongDecoder::State LuongDecoder::start(int64_t rows) const {
  return {stack.start(rows), Tensor::zeros({rows, options_.width})};
}

LuongDecoder::State LuongDecoder::start(const RecurrentState& encoder) const {
  require(static_cast<int64_t>(encoder.layers.size()) == options_.layers, "LuongDecoder",
          "the encoder has {} layers, expected {}", encoder.layers.size(), options_.layers);
  for (const Variable& state : encoder.layers)
    require(state.value().rank() == 2 && state.dim(1) == stack.state_width(), "LuongDecoder",
            "the state of a layer of the encoder must be (B,{}): [h; c] of width {}, got {}", stack.state_width(),
            options_.width, state.shape());
  return {encoder, Tensor::zeros({encoder.layers.front().dim(0), options_.width})};
}

// Reads the token with embedding y (R,E); the weights, if the pass records them.
Tensor LuongDecoder::advance(const Variable& y, State& state, const Memory& memory, Pass& pass) const {
  const Variable h = stack.step(concatenate({y, state.attentional}, 1), state.stack, pass);
  const ContextAttention::Result attended =
      attention.attend(h, memory, {.position = state.position, .weights = records_context(pass)});
  const Variable attentional = tanh(combine.forward(concatenate({attended.context, h}, 1)));
  state.attentional = dropout(attentional, pass.dropout(options_.dropout));
  ++state.position;
  return attended.weights;
}

Variable LuongDecoder::forward(const Variable& y, State state, const Memory& memory, Pass& pass) const {
  require(y.value().rank() == 3 && y.dim(1) > 0 && y.dim(2) == options_.embedding_width, "LuongDecoder",
          "y must be (B,T,E) with T at least 1 and E {}, got {}", options_.embedding_width, y.shape());
  const int64_t B = y.dim(0);
  std::vector<Variable> outputs;
  std::vector<Tensor> weights;
  for (const Variable& y_t : split(y, 1)) {
    weights.push_back(advance(reshape(y_t, {B, options_.embedding_width}), state, memory, pass));
    outputs.push_back(reshape(state.attentional, {B, 1, options_.width}));
  }
  if (records_context(pass)) record_context(weights, pass);
  return concatenate(outputs, 1);
}

Variable LuongDecoder::step(const Variable& y, State& state, const Memory& memory, Pass& pass) const {
  const Tensor weights = advance(y, state, memory, pass);
  if (records_context(pass)) record_context({weights}, pass);
  return state.attentional;
}

void LuongDecoder::list(ModuleContents& contents) const {
  contents.child("stack", stack);
  contents.child("attention", attention);
  contents.child("combine", combine);
}

}  // namespace qkv
