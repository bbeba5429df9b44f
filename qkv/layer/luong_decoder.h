// The decoder of Luong, Pham and Manning, "Effective Approaches to Attention-based Neural Machine Translation", 2015
// (section 3): layers of Lstm with input feeding, whose top state attends to the encoder's states.
//
//     h_t  = lstm([y_(t-1); ~h_(t-1)], ...)              the top layer; ~h_0 = 0
//     c_t  = attention(h_t, encoder states)              ContextAttention: dot, bilinear ("general"), additive ("concat"),
//                                                        location; global, or with +local-m, +local-p
//     ~h_t = tanh(W_c [c_t; h_t])                        the attentional vector, which logits are a linear function of
//
//     LuongDecoder decoder({.width = 512, .encoder_width = 512, .embedding_width = 256});
//     const auto memory = decoder.memory(encoded, lengths);               // encoded (B,S,512)
//     Variable h = decoder.forward(y, decoder.start(encoder_state), memory, pass);    // y (B,T,256), h (B,T,512)
//     Variable next = decoder.step(y_t, state, memory, pass);                         // y_t (R,256), next (R,512)
//
// y: the embedding of the previous token. The Lstm layers begin with the state of the encoder's layers, or with zeros:
// start(rows). R = B * beam rows in a step, those of a sentence adjacent. A step has the bits of the same position of
// the whole while no gradient is recorded. Dropout: between layers, and of ~h_t. The pass's log records the weights as
// AttentionUse::cross, layer 0.
// Parameters: stack (Recurrent), attention, combine (W, C + W) without bias. Errors: shapes that do not fit.
#pragma once

#include "qkv/layer/context_attention.h"
#include "qkv/layer/recurrent.h"

namespace qkv {

struct LuongDecoderOptions {
  int64_t width = 0, encoder_width = 0, embedding_width = 0;  // W, C, E
  int64_t layers = 1;
  AttentionVariant variant = Bilinear{};
  float dropout = 0.0f;
};

class LuongDecoder final : public Module {
 public:
  using Memory = ContextAttention::Memory;
  struct State {
    RecurrentState stack;
    Variable attentional;  // ~h, (R,W)
    int64_t position = 0;  // of the next token

    // Row b continues row source[b]. For decoding: no gradient flows through it.
    void reorder(std::span<const int64_t> source);
  };

  explicit LuongDecoder(const LuongDecoderOptions& options);

  Memory memory(const Variable& encoded, const std::vector<int32_t>& lengths) const;
  State start(int64_t rows) const;
  State start(const RecurrentState& encoder) const;  // of as many layers, of width W
  Variable forward(const Variable& y, State state, const Memory& memory, Pass& pass) const;
  Variable step(const Variable& y, State& state, const Memory& memory, Pass& pass) const;
  void list(ModuleContents& contents) const override;

  Recurrent stack;
  ContextAttention attention;
  Linear combine;

 private:
  Tensor advance(const Variable& y, State& state, const Memory& memory, Pass& pass) const;

  LuongDecoderOptions options_;
};

}  // namespace qkv
