#include "qkv/layer/activation.h"

#include "qkv/base/error.h"
#include "qkv/op/activation.h"

namespace qkv {

Variable activate(Activation activation, const Variable& x) {
  switch (activation) {
    case Activation::relu: return relu(x);
    case Activation::gelu: return gelu(x);
    case Activation::gelu_tanh: return gelu_tanh(x);
    case Activation::silu: return silu(x);
    case Activation::quick_gelu: return quick_gelu(x);
  }
  fail("activate", "{} is not an activation", static_cast<int>(activation));
}

}  // namespace qkv
