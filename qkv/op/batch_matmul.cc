#include "qkv/op/batch_matmul.h"

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/kernel/matmul.h"

namespace qkv {
namespace {

kernel::Matrix first_of(const Tensor& x) { return {x.data<float>(), x.dim(1), x.dim(2)}; }

Tensor product(const Tensor& a, const Tensor& b, bool a_transposed, bool b_transposed) {
  const kernel::Matrix x = a_transposed ? first_of(a).transposed() : first_of(a);
  const kernel::Matrix y = b_transposed ? first_of(b).transposed() : first_of(b);
  Tensor c = Tensor::empty({a.dim(0), x.rows, y.columns});
  const double products = 2.0 * static_cast<double>(c.numel()) * static_cast<double>(x.columns);
  const int64_t numbers = a.numel() + b.numel() + c.numel();
  count_work({.flops = products, .bytes = 4.0 * static_cast<double>(numbers), .shape = c.shape()});
  kernel::matmul_batch({.count = a.dim(0),
                        .a_stride = a.dim(1) * a.dim(2),
                        .b_stride = b.dim(1) * b.dim(2),
                        .c_stride = x.rows * y.columns},
                       x, y, c.data<float>(), y.columns);
  return c;
}

}  // namespace

Variable batch_matmul(const Variable& a, const Variable& b) {
  require(a.value().rank() == 3 && b.value().rank() == 3 && a.dim(0) == b.dim(0) && a.dim(2) == b.dim(1),
          "batch_matmul", "a (N,R,K) is {}, b (N,K,C) is {}: N and K must agree", a.shape(), b.shape());
  const OpScope scope("batch_matmul");
  const Tensor x = a.value().contiguous_copy(), y = b.value().contiguous_copy();
  return record("batch_matmul", {a, b}, product(x, y, false, false),
                [x, y](const Tensor& grad, const std::vector<bool>& needs) {
                  const Tensor dc = grad.contiguous_copy();
                  return std::vector<Tensor>{needs[0] ? product(dc, y, false, true) : Tensor(),   // da = dc b^T
                                             needs[1] ? product(x, dc, true, false) : Tensor()};  // db = a^T dc
                });
}

}  // namespace qkv
