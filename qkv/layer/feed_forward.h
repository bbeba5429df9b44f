// The position-wise feed-forward network (Vaswani et al., 2017, section 3.3), plain or gated (Shazeer, "GLU Variants
// Improve Transformer", 2020):
//
//     y = down( activation( up(x) ) )                     up (F, C), down (C, F)
//     y = down( activation( gate(x) ) * up(x) )           gated, by element; gate (F, C)
//
//     FeedForward ffn({.d_model = 512, .ffn = 1376, .activation = Activation::silu, .gated = true});    // SwiGLU
//     Variable y = ffn.forward(x, pass);
#pragma once

#include <optional>

#include "qkv/layer/activation.h"
#include "qkv/layer/linear.h"
#include "qkv/layer/pass.h"

namespace qkv {

struct FeedForwardOptions {
  int64_t d_model = 0, ffn = 0;  // C, F
  Activation activation = Activation::relu;
  bool gated = false;
  bool bias = true;      // of every Linear
  float dropout = 0.0f;  // of the hidden layer
};

class FeedForward final : public Module {
 public:
  explicit FeedForward(const FeedForwardOptions& options);
  // Where nothing is recorded, the hidden layer of many rows is computed in blocks of rows that stay in the caches.
  Variable forward(const Variable& x, Pass& pass) const;
  void list(ModuleContents& contents) const override;

  std::optional<Linear> gate;
  Linear up, down;

 private:
  Variable forward(const Variable& x, const Dropout& dropout) const;

  FeedForwardOptions options_;
};

}  // namespace qkv
