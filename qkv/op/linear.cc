#include "qkv/op/linear.h"

#include <algorithm>
#include <utility>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/kernel/matmul.h"
#include "qkv/op/activation.h"
#include "qkv/op/convert.h"
#include "qkv/op/kept_input.h"
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

bool is_recorded(const Variable& x, const WeightAndBias& layer) {
  return recording({x, layer.weight().master(), layer.bias()});
}

// The gradient of max(0, y) from that of the result: of the result itself, or where it is positive.
struct Relu {
  Tensor result = {};
  PositiveNumbers positive = {};

  Tensor gradient(const Tensor& grad) const {
    if (positive.defined()) return positive.relu_gradient(grad);
    return result.defined() ? relu_gradient(result, grad) : grad.contiguous_copy();
  }
};

// The node of y = x W^T + b, or of y = max(0, x W^T + b). The gradient of x has its type.
Variable recorded(const Variable& x, const WeightAndBias& layer, const KeptInput& kept, const Tensor& y) {
  const Weight& w = layer.weight();
  const int64_t K = w.dim(1), N = w.dim(0), M = x.value().numel() / K;
  Relu relu;
  if (layer.relu()) {
    if (w.precision() == Precision::bf16)
      relu.positive = PositiveNumbers(y);
    else
      relu.result = y;
  }
  return record("linear", {x, w.master(), layer.bias()}, y,
                [kept, shape = x.shape(), type = x.value().dtype(), w, M, K, N, relu](
                    const Tensor& grad, const std::vector<bool>& needs) mutable {
                  const Tensor dy = std::exchange(relu, {}).gradient(grad);  // which frees the result
                  std::vector<Tensor> grads(needs.size());
                  if (needs[0]) {  // dx = dy W
                    Tensor dx = Tensor::empty(shape);
                    const kernel::PackedMatrix weight = w.backward(M);
                    const OpScope scope("linear: dx", ProductWork(M, w.shape(), weight));
                    kernel::matmul(matrix(dy, M), weight, dx.data<float>(), K);
                    grads[0] = convert(dx, type);
                  }
                  if (needs[1]) {  // dW = dy^T x
                    grads[1] = Tensor::empty(w.shape());
                    weight_gradient(w, matrix(dy, M), kept.value(), grads[1].data<float>());
                  }
                  if (needs[2]) {  // db = sum of the rows of dy
                    const OpScope scope("linear: db", OpWork::moves(dy, 1));
                    grads[2] = sum_rows(dy, N);
                  }
                  return grads;
                });
}

// The products of x with at most `max_layers` layers; fewer than that cost the time to clear their places.
template <size_t max_layers>
void forward(const Variable& x, std::span<const WeightAndBias> layers, std::span<Variable> results) {
  const OpScope scope("linear");
  Tensor copy;
  const Tensor& given = x.value().contiguous_in(copy);
  const Tensor converted = given.dtype() == DType::f32 ? Tensor() : convert(given, DType::f32);
  const Tensor& in = converted.defined() ? converted : given;
  const int64_t M = in.dim(-1) > 0 ? in.numel() / in.dim(-1) : 0;
  int64_t columns = 0;  // of all layers
  std::array<kernel::Product, max_layers> products;
  std::array<Tensor, max_layers> ys, biases;
  std::array<bool, max_layers> records = {};
  size_t count = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    const Weight& w = layers[i].weight();
    const Variable& b = layers[i].bias();
    if (!w.defined()) continue;
    check(x, w, b);
    Shape shape = x.shape();
    shape[shape.rank() - 1] = w.dim(0);
    Tensor &y = ys[i], &bias_copy = biases[i];
    y = Tensor::empty(shape);
    const float* bias = b.defined() ? b.value().contiguous_in(bias_copy).data<float>() : nullptr;
    columns += w.dim(0);
    records[i] = is_recorded(x, layers[i]);
    products[count++] = {.b = records[i] ? w.recorded_forward(M) : w.forward(),
                         .c = y.data<float>(),
                         .c_row_stride = w.dim(0),
                         .options = {.bias = bias, .relu = layers[i].relu()}};
  }
  if (count > 0) {
    kernel::matmul(matrix(in, M), std::span(products.data(), count));
    count_work(ProductWork(M, {columns, in.dim(-1)}, products[0].b));
  }
  const bool any_records = std::ranges::find(records, true) != records.end();
  const KeptInput kept = any_records ? KeptInput(x, given, layers) : KeptInput();
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!ys[i].defined())
      results[i] = Variable();
    else
      results[i] = records[i] ? recorded(x, layers[i], kept, ys[i]) : Variable(std::move(ys[i]));
  }
}

}  // namespace

Variable linear(const Variable& x, const Weight& w, const Variable& b) {
  const WeightAndBias layer = {w, b};
  Variable y;
  linear(x, std::span(&layer, 1), std::span(&y, 1));
  return y;
}

void linear_in_blocks(const Tensor& x, const Weight& w, const Variable& b, int parts,
                      FunctionRef<void(const kernel::ProductBlock&)> take) {
  check(Variable(x), w, b);
  require(x.rank() == 2 && x.contiguous(), "linear_in_blocks", "x must be contiguous (R,K), got {}", x.shape());
  const Tensor bias = b.defined() ? b.value().contiguous_copy() : Tensor();
  const kernel::PackedMatrix weight = w.forward();
  const OpScope scope("linear", ProductWork(x.dim(0), w.shape(), weight));
  kernel::matmul_in_blocks(matrix(x, x.dim(0)), weight, {.bias = bias.defined() ? bias.data<float>() : nullptr},
                           parts, take);
}

void linear(const Variable& x, std::span<const WeightAndBias> layers, std::span<Variable> results) {
  constexpr size_t max_layers = 4;  // at a time
  if (layers.size() == 1) return forward<1>(x, layers, results);
  for (; layers.size() > max_layers; layers = layers.subspan(max_layers), results = results.subspan(max_layers))
    forward<max_layers>(x, layers.first(max_layers), results.first(max_layers));
  forward<max_layers>(x, layers, results);
}

}  // namespace qkv
