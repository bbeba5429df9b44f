#include "qkv/layer/bahdanau_decoder.h"

#include "qkv/attention/cache.h"
#include "qkv/base/error.h"
#include "qkv/op/activation.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/concatenate.h"
#include "qkv/op/maxout.h"
#include "qkv/op/shape.h"

namespace qkv {
namespace {

BahdanauDecoderOptions completed(BahdanauDecoderOptions o) {
  require(o.width > 0 && o.embedding_width > 0 && o.encoder_width > 0 && o.encoder_width % 2 == 0 &&
              o.readout_width >= 0,
          "BahdanauDecoder",
          "width {}, embedding_width {} and encoder_width {} must be positive, the last one even", o.width,
          o.embedding_width, o.encoder_width);
  if (o.readout_width == 0) o.readout_width = o.width;
  return o;
}

}  // namespace

BahdanauDecoder::BahdanauDecoder(const BahdanauDecoderOptions& options)
    : initial(options.encoder_width / 2, {options.width, "C"}),
      attention({.width = options.width, .encoder_width = options.encoder_width, .variant = options.variant}),
      cell(options.embedding_width + options.encoder_width, {options.width, "C"}),
      state_readout(0, 0),
      embedding_readout(0, 0),
      context_readout(0, 0),
      options_(completed(options)) {
  const Axis readout(2 * options_.readout_width);
  state_readout = Linear({options_.width, "C"}, readout);
  embedding_readout = Linear(options_.embedding_width, readout, /*bias=*/false);
  context_readout = Linear(options_.encoder_width, readout, /*bias=*/false);
}

void BahdanauDecoder::State::reorder(std::span<const int64_t> source) { s = gather_rows(s.value(), source); }

BahdanauDecoder::Memory BahdanauDecoder::memory(const Variable& encoded,
                                                const std::vector<int32_t>& lengths) const {
  return attention.memory(encoded, lengths);
}

BahdanauDecoder::State BahdanauDecoder::start(const Variable& encoded) const {
  const int64_t C = options_.encoder_width;
  require(encoded.value().rank() == 3 && encoded.dim(1) > 0 && encoded.dim(2) == C, "BahdanauDecoder",
          "encoded must be (B,S,C) with S at least 1 and C {}, got {}", C, encoded.shape());
  const Variable reverse = slice(slice(encoded, 1, 0, 1), 2, C / 2, C);
  return {tanh(initial.forward(reshape(reverse, {encoded.dim(0), C / 2})))};
}

// The state after the token with embedding y (R,E), and the context that it was computed from.
ContextAttention::Result BahdanauDecoder::advance(const Variable& y, State& state, const Memory& memory,
                                                  Pass& pass) const {
  ContextAttention::Result attended =
      attention.attend(state.s, memory, {.position = state.position, .weights = records_context(pass)});
  state.s = cell.step(concatenate({y, attended.context}, 1), state.s);
  ++state.position;
  return attended;
}

Variable BahdanauDecoder::readout(const Variable& s, const Variable& y, const Variable& context, Pass& pass) const {
  const Variable sum =
      add(add(state_readout.forward(s), embedding_readout.forward(y)), context_readout.forward(context));
  return dropout(maxout(sum, 2), pass.dropout(options_.dropout));
}

Variable BahdanauDecoder::forward(const Variable& y, State state, const Memory& memory, Pass& pass) const {
  require(y.value().rank() == 3 && y.dim(1) > 0 && y.dim(2) == options_.embedding_width, "BahdanauDecoder",
          "y must be (B,T,E) with T at least 1 and E {}, got {}", options_.embedding_width, y.shape());
  const int64_t B = y.dim(0);
  std::vector<Variable> states, contexts;
  std::vector<Tensor> weights;
  for (const Variable& y_t : split(y, 1)) {
    const ContextAttention::Result attended =
        advance(reshape(y_t, {B, options_.embedding_width}), state, memory, pass);
    states.push_back(reshape(state.s, {B, 1, options_.width}));
    contexts.push_back(reshape(attended.context, {B, 1, options_.encoder_width}));
    weights.push_back(attended.weights);
  }
  if (records_context(pass)) record_context(weights, pass);
  return readout(concatenate(states, 1), y, concatenate(contexts, 1), pass);
}

Variable BahdanauDecoder::step(const Variable& y, State& state, const Memory& memory, Pass& pass) const {
  const ContextAttention::Result attended = advance(y, state, memory, pass);
  if (records_context(pass)) record_context({attended.weights}, pass);
  return readout(state.s, y, attended.context, pass);
}

void BahdanauDecoder::list(ModuleContents& contents) const {
  contents.child("initial", initial);
  contents.child("attention", attention);
  contents.child("cell", cell);
  contents.child("state_readout", state_readout);
  contents.child("embedding_readout", embedding_readout);
  contents.child("context_readout", context_readout);
}

}  // namespace qkv
