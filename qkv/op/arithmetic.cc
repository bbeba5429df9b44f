#include "qkv/op/arithmetic.h"

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/kernel/kernels.h"
#include "qkv/op/rows.h"

namespace qkv {
namespace {

void check_same(const char* op, const Variable& a, const Variable& b) {
  require(a.shape() == b.shape(), op, "shapes must agree: {} and {}", a.shape(), b.shape());
}

template <class Kernel>
Tensor elementwise(Kernel kernel, const Tensor& a, const Tensor& b) {
  Tensor y = Tensor::empty(a.shape());
  float* out = y.data<float>();
  const float *x0 = a.data<float>(), *x1 = b.data<float>();
  for_each_range(y.numel(), [&](int64_t i, int64_t end) { kernel(x0 + i, x1 + i, end - i, out + i); });
  return y;
}

Tensor scaled(const Tensor& x, float factor) {
  Tensor y = Tensor::empty(x.shape());
  float* out = y.data<float>();
  const float* in = x.data<float>();
  for_each_range(y.numel(),
                 [&](int64_t i, int64_t end) { kernel::kernels().rows.scale(in + i, factor, end - i, out + i); });
  return y;
}

double sum_of_products(const Tensor& a, const Tensor& b) {
  const Tensor products = elementwise(kernel::kernels().rows.multiply, a, b);
  return kernel::kernels().rows.sum(products.data<float>(), products.numel());
}

}  // namespace

Variable add(const Variable& a, const Variable& b) {
  check_same("add", a, b);
  const OpScope scope("add", OpWork::moves(a.value(), 3));
  Tensor copies[2];
  const Tensor &x0 = a.value().contiguous_in(copies[0]), &x1 = b.value().contiguous_in(copies[1]);
  return record("add", {a, b}, elementwise(kernel::kernels().rows.add, x0, x1),
                [](const Tensor& dy, const std::vector<bool>&) {
                  return std::vector<Tensor>{dy, dy};
                });
}

Variable add(const Variable& x, float constant) {
  const OpScope scope("add", OpWork::moves(x.value(), 3));
  const Tensor in = x.value().contiguous_copy(), constants = Tensor::full(in.shape(), constant);
  return record("add", {x}, elementwise(kernel::kernels().rows.add, in, constants),
                [](const Tensor& dy, const std::vector<bool>&) { return std::vector<Tensor>{dy}; });
}

Variable multiply(const Variable& a, const Variable& b) {
  check_same("multiply", a, b);
  const OpScope scope("multiply", OpWork::moves(a.value(), 3));
  const Tensor x0 = a.value().contiguous_copy(), x1 = b.value().contiguous_copy();
  const auto product = [](const Tensor& x, const Tensor& y) {
    return elementwise(kernel::kernels().rows.multiply, x, y);
  };
  if (!recording({a, b})) return product(x0, x1);
  return record("multiply", {a, b}, product(x0, x1),
                [x0, x1, product](const Tensor& grad, const std::vector<bool>& needs) {
                  const Tensor dy = grad.contiguous_copy();
                  count_work(OpWork::moves(dy, 3 * (needs[0] + needs[1])));
                  return std::vector<Tensor>{needs[0] ? product(dy, x1) : Tensor(),
                                             needs[1] ? product(dy, x0) : Tensor()};
                })
      .recomputed_by([x0, x1, product] { return product(x0, x1); });
}

Variable scale(const Variable& x, float factor) {
  const OpScope scope("scale", OpWork::moves(x.value(), 2));
  return record("scale", {x}, scaled(x.value().contiguous_copy(), factor),
                [factor](const Tensor& dy, const std::vector<bool>&) {
                  count_work(OpWork::moves(dy, 2));
                  return std::vector<Tensor>{scaled(dy.contiguous_copy(), factor)};
                });
}

Variable scale(const Variable& x, const Variable& factor) {
  require(factor.shape() == Shape{1}, "scale", "the factor must be one number, of shape (1), got {}",
          factor.shape());
  const OpScope scope("scale", OpWork::moves(x.value(), 2));
  const float by = factor.value().at<float>({0});
  const Tensor in = x.value().contiguous_copy();
  return record("scale", {x, factor}, scaled(in, by), [in, by](const Tensor& grad, const std::vector<bool>& needs) {
    count_work(OpWork::moves(grad, 2 * (needs[0] + needs[1])));
    const Tensor dy = grad.contiguous_copy();
    std::vector<Tensor> grads(2);
    if (needs[0]) grads[0] = scaled(dy, by);
    if (needs[1]) grads[1] = Tensor::full({1}, static_cast<float>(sum_of_products(dy, in)));
    return grads;
  });
}

Variable divide(const Variable& x, const Variable& divisor) {
  require(divisor.shape() == Shape{1}, "divide", "the divisor must be one number, of shape (1), got {}",
          divisor.shape());
  const OpScope scope("divide", OpWork::moves(x.value(), 2));
  const float by = divisor.value().at<float>({0});
  const Tensor y = scaled(x.value().contiguous_copy(), 1.0f / by);
  return record("divide", {x, divisor}, y, [y, by](const Tensor& grad, const std::vector<bool>& needs) {
    count_work(OpWork::moves(grad, 2 * (needs[0] + needs[1])));
    const Tensor dy = grad.contiguous_copy();
    std::vector<Tensor> grads(2);
    if (needs[0]) grads[0] = scaled(dy, 1.0f / by);
    if (needs[1]) {  // dx/dc (x / c) = -(x / c) / c
      grads[1] = Tensor::full({1}, static_cast<float>(-sum_of_products(dy, y) / static_cast<double>(by)));
    }
    return grads;
  });
}

Variable sum(const Variable& x) {
  const OpScope scope("sum", OpWork::moves(x.value(), 1));
  const Tensor in = x.value().contiguous_copy();
  Tensor y = Tensor::full({1}, static_cast<float>(kernel::kernels().rows.sum(in.data<float>(), in.numel())));
  return record("sum", {x}, y, [shape = x.shape()](const Tensor& dy, const std::vector<bool>&) {
    return std::vector<Tensor>{Tensor::full(shape, dy.at<float>({0}))};
  });
}

}  // namespace qkv
