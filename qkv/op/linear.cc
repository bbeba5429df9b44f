#include "qkv/op/linear.h"

#include "qkv/base/error.h"
#include "qkv/kernel/matmul.h"
#include "qkv/op/rows.h"

namespace qkv {
namespace {

kernel::Matrix matrix(const Tensor& x, int64_t rows) { return {x.data<float>(), rows, x.dim(-1)}; }

}  // namespace

Variable linear(const Variable& x, const Weight& w, const Variable& b) {
  require(w.shape().rank() == 2 && x.value().rank() >= 1 && x.dim(-1) == w.dim(1) && w.dim(1) > 0, "linear",
          "x (..., K) is {}, w (N, K) is {}: K must agree and be positive", x.shape(), w.shape());
  require(!b.defined() || b.shape() == Shape{w.dim(0)}, "linear", "w (N, K) is {}, b (N) is {}: N must agree",
          w.shape(), b.defined() ? b.shape() : Shape{});
  const Tensor in = x.value().contiguous_copy();
  const int64_t K = w.dim(1), N = w.dim(0), M = in.numel() / K;
  Shape shape = x.shape();
  shape[shape.rank() - 1] = N;
  Tensor y = Tensor::empty(shape);
  const Tensor bias = b.defined() ? b.value().contiguous_copy() : Tensor();
  kernel::matmul(matrix(in, M), w.forward(), y.data<float>(), N,
                 {.bias = b.defined() ? bias.data<float>() : nullptr});

  std::vector<Variable> inputs = {x, w.master()};
  if (b.defined()) inputs.push_back(b);
  return record("linear", std::move(inputs), y,
                [in, w, M, K, N](const Tensor& grad, const std::vector<bool>& needs) {
                  const Tensor dy = grad.contiguous_copy();
                  std::vector<Tensor> grads(needs.size());
                  if (needs[0]) {  // dx = dy W
                    grads[0] = Tensor::empty(in.shape());
                    kernel::matmul(matrix(dy, M), w.backward(), grads[0].data<float>(), K);
                  }
                  if (needs[1]) {  // dW = dy^T x
                    grads[1] = Tensor::empty(w.shape());
                    kernel::matmul(matrix(dy, M).transposed(), matrix(in, M), grads[1].data<float>(), K);
                  }
                  if (needs.size() > 2 && needs[2]) grads[2] = sum_rows(dy, N);  // db = sum of the rows of dy
                  return grads;
                });
}

}  // namespace qkv
