// Element-wise activations.
//
//     relu(x) = max(0, x)                        silu(x) = x sigmoid(x)
//     gelu(x) = x/2 (1 + erf(x / sqrt 2))        Hendrycks and Gimpel, 2016
//     gelu_tanh(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
//     quick_gelu(x) = x sigmoid(1.702 x)
//
//     Variable y = gelu(linear(x, w, b));
//
// Any shape. The gradient of relu at 0 is 0.
#pragma once

#include "qkv/autograd/variable.h"

namespace qkv {

Variable relu(const Variable& x);
// grad where y = relu(x) is positive, else 0: for ops whose last step is a relu.
Tensor relu_gradient(const Tensor& y, const Tensor& grad);
Variable gelu(const Variable& x);
Variable gelu_tanh(const Variable& x);
Variable quick_gelu(const Variable& x);
Variable silu(const Variable& x);
Variable sigmoid(const Variable& x);
Variable tanh(const Variable& x);

}  // namespace qkv
