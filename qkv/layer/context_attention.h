// Attention of a recurrent decoder: the context of a decoder state is the average of the encoder's states, weighted by
// how well each matches the decoder state (Bahdanau et al., 2015; Luong et al., 2015).
//
//     c_i = sum_j w_ij h_j,      w_i = softmax over j of score(s_i, h_j)
//
//     additive  score = v . tanh(W_q s_i + W_k h_j)         bilinear  score = s_i . W_k h_j      ("general")
//     other     the variant's own, of s_i and h_j, which then have one width: dot, cosine, ...; location reads no keys
//
//     ContextAttention attention({.width = 512, .encoder_width = 1024, .variant = Additive{256}});
//     const auto memory = attention.memory(encoded, lengths);             // encoded (B,S,1024): projects keys once
//     Variable c = attention.attend(s, memory, {.position = t}).context;  // s (R,512), c (R,1024)
//
// One head; the states themselves are the values. The rows of s are R = B * beam hypotheses, those of a sentence
// adjacent; they share a row of the memory. Besides the score the variant may have any mechanism of cross-attention:
// local-m, local-p (predicted from s_i), softcap, ... Positions after the end of a sentence are not visible.
// Parameters: key (D,C), of additive and bilinear; query (D,W) and score (D), of additive, D its hidden width, W if 0;
// then those of the other mechanisms, named as in attention_part.h. No biases.
#pragma once

#include <optional>
#include <span>

#include "qkv/attention/attention.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/linear.h"
#include "qkv/layer/pass.h"

namespace qkv {

struct ContextAttentionOptions {
  int64_t width = 0, encoder_width = 0;  // W of decoder states, C of encoder states
  AttentionVariant variant = {};
};

class ContextAttention final : public Module {
 public:
  // The encoder states that decoder states attend to.
  struct Memory {
    Variable keys, values;  // (B,1,S,D), (B,1,S,C)
    Tensor lengths;         // (B) i32

    // Row b becomes row source[b]. For decoding: no gradient flows through it.
    void reorder(std::span<const int64_t> source);
  };
  struct Call {
    int64_t position = 0;  // of every state in the target
    bool weights = false;  // whether they are wanted
  };
  struct Result {
    Variable context;  // (R,C)
    Tensor weights;    // (B,1,beam,S)
  };

  explicit ContextAttention(const ContextAttentionOptions& options);

  Memory memory(const Variable& encoded, const std::vector<int32_t>& lengths) const;
  Result attend(const Variable& states, const Memory& memory, const Call& call) const;
  void list(ModuleContents& contents) const override;

  std::optional<Linear> query, key;
  Parameter score;

 private:
  ContextAttentionOptions options_;
  AttentionSize size_;
  std::vector<AttentionPart> parts_;
  AttentionOptions call_options_;  // of every call
};

// Whether the pass records the weights of the decoder's attention, and their entry in its log: the steps joined,
// (B,1,T,S).
bool records_context(const Pass& pass);
void record_context(const std::vector<Tensor>& steps, Pass& pass);

}  // namespace qkv
