#include "qkv/op/linear.h"

#include <utility>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/kernel/matmul.h"
#include "qkv/op/activation.h"
#include "qkv/op/product_work.h"
#include "qkv/op/rows.h"

namespace qkv {
namespace {

kernel::Matrix matrix(const Tensor& x, int64_t rows) { return {x.data<float>(), rows, x.dim(-1)}; }

void check(const Variable& x, const Weight& w, const Variable& b) {
  require(w.shape().rank() == 2 && x.value().rank() >= 1 && x.dim(-1) == w.dim(1) && w.dim(1) > 0, "linear",
          "x (..., K) is {}, w (N, K) is {}: K must agree and be positive", x.shape(), w.shape());
  require(!b.defined() || b.shape() == Shape{w.dim(0)}, "linear", "w (N, K) is {}, b (N) is {}: N must agree",
          w.shape(), b.defined() ? b.shape() : Shape{});
}

bool is_recorded(const Variable& x, const Weight& w, const Variable& b) {
  const Variable inputs[] = {x, w.master(), b};
  return recording(inputs);
}

// The node of y = x W^T + b; `in` holds x.
Variable recorded(const Variable& x, const Weight& w, const Variable& b, const Tensor& in, const Tensor& y) {
  const int64_t K = w.dim(1), N = w.dim(0), M = in.numel() / K;
  return record("linear", {x, w.master(), b}, y,
                [in, w, M, K, N](const Tensor& grad, const std::vector<bool>& needs) {
                  const Tensor dy = grad.contiguous_copy();
                  std::vector<Tensor> grads(needs.size());
                  if (needs[0]) {  // dx = dy W
                    grads[0] = Tensor::empty(in.shape());
                    const kernel::PackedMatrix weight = w.backward();
                    const OpScope scope("linear: dx", product_work(M, w.shape(), weight));
                    kernel::matmul(matrix(dy, M), weight, grads[0].data<float>(), K);
                  }
                  if (needs[1]) {  // dW = dy^T x
                    grads[1] = Tensor::empty(w.shape());
                    w.gradient(matrix(dy, M), matrix(in, M), grads[1].data<float>());
                  }
                  if (needs[2]) {  // db = sum of the rows of dy
                    const OpScope scope("linear: db", OpWork::moves(dy, 1));
                    grads[2] = sum_rows(dy, N);
                  }
                  return grads;
                });
}

}  // namespace

Variable linear(const Variable& x, const Weight& w, const Variable& b) {
  const WeightAndBias layer = {w, b};
  Variable y;
  linear(x, std::span(&layer, 1), std::span(&y, 1));
  return y;
}

void linear(const Variable& x, std::span<const WeightAndBias> layers, std::span<Variable> results) {
  constexpr size_t max_layers = 4;  // at a time
  for (; layers.size() > max_layers; layers = layers.subspan(max_layers), results = results.subspan(max_layers))
    linear(x, layers.first(max_layers), results.first(max_layers));
  const OpScope scope("linear");
  const Tensor in = x.value().contiguous_copy();
  int64_t columns = 0;  // of all layers
  std::array<kernel::Product, max_layers> products;
  std::array<Tensor, max_layers> ys, biases;
  size_t count = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto& [w, b, has_relu] = layers[i];
    if (!w.defined()) continue;
    check(x, w, b);
    Shape shape = x.shape();
    shape[shape.rank() - 1] = w.dim(0);
    ys[i] = Tensor::empty(shape);
    if (b.defined()) biases[i] = b.value().contiguous_copy();
    const bool records = is_recorded(x, w, b);
    columns += w.dim(0);
    products[count++] = {.b = records ? w.recorded_forward() : w.forward(),
                         .c = ys[i].data<float>(),
                         .c_row_stride = w.dim(0),
                         .options = {.bias = b.defined() ? std::as_const(biases[i]).data<float>() : nullptr,
                                     .relu = has_relu && !records}};
  }
  if (count > 0) {
    const int64_t K = in.dim(-1), M = in.numel() / K;
    kernel::matmul(matrix(in, M), std::span(products.data(), count));
    count_work(product_work(M, {columns, K}, products[0].b));
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto& [w, b, has_relu] = layers[i];
    results[i] = ys[i].defined() ? recorded(x, w, b, in, ys[i]) : Variable();
    if (has_relu && results[i].requires_grad()) results[i] = relu(results[i]);
  }
}

}  // namespace qkv
