#include "qkv/op/activation.h"

#include <utility>

#include "qkv/autograd/profile.h"
#include "qkv/kernel/kernels.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/rows.h"

namespace qkv {
namespace {

using kernel::RowKernels;

Tensor gradient_of(const Tensor& x, const Tensor& grad, RowKernels::Backward backward) {
  Tensor dx = in_place_or_empty(grad);
  const Tensor dy = grad.contiguous_copy();
  const float *x0 = x.data<float>(), *g = dy.data<float>();
  float* out = dx.data<float>();
  for_each_range(dx.numel(), [&](int64_t i, int64_t end) { backward(x0 + i, g + i, end - i, out + i); });
  return dx;
}

Tensor activated(const Tensor& x, RowKernels::Forward forward) {
  Tensor y = Tensor::empty(x.shape());
  const float* from = x.data<float>();
  float* to = y.data<float>();
  for_each_range(y.numel(), [&](int64_t i, int64_t end) { forward(from + i, end - i, to + i); });
  return y;
}

Variable activation(const char* op, const Variable& x, RowKernels::Forward forward, RowKernels::Backward backward) {
  const OpScope scope(op, OpWork::moves(x.value(), 2));
  const Tensor in = x.value().contiguous_copy();
  Tensor y = activated(in, forward);
  if (!recording({x})) return y;
  return record(op, {x}, std::move(y),
                [in, backward](const Tensor& grad, const std::vector<bool>&) {
                  count_work(OpWork::moves(grad, 3));
                  return std::vector<Tensor>{gradient_of(in, grad, backward)};
                })
      .recomputed_by([in, forward] { return activated(in, forward); });
}

const RowKernels& rows() { return kernel::kernels().rows; }

}  // namespace

Tensor relu_gradient(const Tensor& y, const Tensor& grad) {
  const OpScope scope("relu", OpWork::moves(grad, 3));
  // Where y is positive, so is x.
  return gradient_of(y, grad, rows().relu_backward);
}

Variable relu(const Variable& x) { return activation("relu", x, rows().relu, rows().relu_backward); }
Variable gelu(const Variable& x) { return activation("gelu", x, rows().gelu, rows().gelu_backward); }
Variable gelu_tanh(const Variable& x) {
  return activation("gelu_tanh", x, rows().gelu_tanh, rows().gelu_tanh_backward);
}
Variable quick_gelu(const Variable& x) { return scale(silu(scale(x, 1.702f)), 1 / 1.702f); }
Variable silu(const Variable& x) { return activation("silu", x, rows().silu, rows().silu_backward); }
Variable sigmoid(const Variable& x) { return activation("sigmoid", x, rows().sigmoid, rows().sigmoid_backward); }
Variable tanh(const Variable& x) { return activation("tanh", x, rows().tanh, rows().tanh_backward); }

}  // namespace qkv
