// The decoder of Bahdanau, Cho and Bengio, "Neural Machine Translation by Jointly Learning to Align and Translate",
// 2015 (sections 3.1 and A.2.2): a Gru whose state, before it reads the next token, attends to the encoder's states.
//
//     s_0 = tanh(W_s <-h_1)                              <-h_1: the encoder's first state of the reverse direction
//     c_i = attention(s_(i-1), h)                        ContextAttention, "additive" unless another variant is given
//     s_i = gru([y_(i-1); c_i], s_(i-1))
//     t_i = maxout(U s_i + V y_(i-1) + Z c_i)            pairs: the readout, which logits are a linear function of
//
//     BahdanauDecoder decoder({.width = 512, .encoder_width = 1024, .embedding_width = 256});
//     const auto memory = decoder.memory(encoded, lengths);            // encoded (B,S,1024) of a bidirectional encoder
//     Variable t = decoder.forward(y, decoder.start(encoded), memory, pass);          // y (B,T,256), t (B,T,512)
//     Variable next = decoder.step(y_t, state, memory, pass);                         // y_t (R,256), next (R,512)
//
// y: the embedding of the previous token. R = B * beam rows in a step, those of a sentence adjacent. A step has the
// bits of the same position of the whole while no gradient is recorded. The gru is that of op/gru.h; the readout has
// s_i, as the paper's equation 4. Dropout: of the readout. The pass's log records the weights as AttentionUse::cross,
// layer 0. Parameters: initial (W, C/2), attention, cell (Gru), state_readout (2L, W), embedding_readout (2L, E),
// context_readout (2L, C); the last two without bias. Errors: an odd encoder_width; shapes that do not fit.
#pragma once

#include "qkv/layer/context_attention.h"
#include "qkv/layer/gru.h"

namespace qkv {

struct BahdanauDecoderOptions {
  int64_t width = 0, encoder_width = 0, embedding_width = 0;  // W, C, E
  int64_t readout_width = 0;                                  // L; 0: W
  AttentionVariant variant = Additive{};
  float dropout = 0.0f;
};

class BahdanauDecoder final : public Module {
 public:
  using Memory = ContextAttention::Memory;
  struct State {
    Variable s;            // (R,W)
    int64_t position = 0;  // of the next token

    // Row b continues row source[b]. For decoding: no gradient flows through it.
    void reorder(std::span<const int64_t> source);
  };

  explicit BahdanauDecoder(const BahdanauDecoderOptions& options);

  Memory memory(const Variable& encoded, const std::vector<int32_t>& lengths) const;
  State start(const Variable& encoded) const;
  Variable forward(const Variable& y, State state, const Memory& memory, Pass& pass) const;
  Variable step(const Variable& y, State& state, const Memory& memory, Pass& pass) const;
  void list(ModuleContents& contents) const override;

  Linear initial;
  ContextAttention attention;
  Gru cell;
  Linear state_readout, embedding_readout, context_readout;

 private:
  ContextAttention::Result advance(const Variable& y, State& state, const Memory& memory, Pass& pass) const;
  Variable readout(const Variable& s, const Variable& y, const Variable& context, Pass& pass) const;

  BahdanauDecoderOptions options_;
};

}  // namespace qkv
