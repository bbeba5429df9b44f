// The position-wise feed-forward network (Vaswani et al., 2017, section 3.3):
//
//     y = down( activation( up(x) ) )        up (F, C), down (C, F), activation ReLU or GELU
//
//     FeedForward ffn({.d_model = 512, .ffn = 2048});
//     Variable y = ffn.forward(x, pass);
#pragma once

#include "qkv/base/names.h"
#include "qkv/layer/linear.h"
#include "qkv/layer/pass.h"

namespace qkv {

enum class Activation { relu, gelu };
constexpr auto names_of(Activation) {
  return std::array{Named{Activation::relu, "relu"}, Named{Activation::gelu, "gelu"}};
}

struct FeedForwardOptions {
  int64_t d_model = 0, ffn = 0;  // C, F
  Activation activation = Activation::relu;
  float dropout = 0.0f;  // of the activations
};

class FeedForward final : public Module {
 public:
  explicit FeedForward(const FeedForwardOptions& options);
  Variable forward(const Variable& x, Pass& pass) const;
  void list(ModuleContents& contents) const override;

  Linear up, down;

 private:
  FeedForwardOptions options_;
};

}  // namespace qkv
