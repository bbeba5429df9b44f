// The activations of feed-forward networks, by name.
//
//     Variable y = activate(Activation::silu, x);
#pragma once

#include "qkv/autograd/variable.h"
#include "qkv/base/names.h"

namespace qkv {

// gelu is the exact one, gelu_tanh its approximation by tanh, quick_gelu the one by a sigmoid; see op/activation.h.
enum class Activation { relu, gelu, gelu_tanh, silu, quick_gelu };
constexpr auto names_of(Activation) {
  return std::array{Named{Activation::relu, "relu"}, Named{Activation::gelu, "gelu"},
                    Named{Activation::gelu_tanh, "gelu-tanh"}, Named{Activation::silu, "silu"},
                    Named{Activation::quick_gelu, "quick-gelu"}};
}

Variable activate(Activation activation, const Variable& x);

}  // namespace qkv
