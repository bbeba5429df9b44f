#include "qkv/attention/local.h"

#include <algorithm>

#include "qkv/attention/mask/around.h"
#include "qkv/attention/mask/window.h"
#include "qkv/attention/reweigh/gaussian_window.h"
#include "qkv/base/error.h"
#include "qkv/op/activation.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/convert.h"
#include "qkv/op/linear.h"
#include "qkv/op/shape.h"

namespace qkv {

MaskPtr local_m(int64_t radius) {
  require(radius >= 0, "local_m", "the radius must not be negative, got {}", radius);
  return window(radius, radius, 0);
}

PredictedWindow local_p(const Variable& q, const Variable& w_p, const Variable& v_p, const Tensor& lengths,
                        int64_t radius) {
  require(q.value().rank() == 4 && w_p.value().rank() == 2 && w_p.dim(1) == q.dim(3) &&
              v_p.shape() == Shape{w_p.dim(0)},
          "local_p", "q (B,H,T,D) is {}, w_p (F,D) is {}, v_p (F) is {}", q.shape(), w_p.shape(), v_p.shape());
  require(lengths.dtype() == DType::i32 && lengths.shape() == Shape{q.dim(0)}, "local_p",
          "lengths must be i32 of shape (B), got {} {} for B {}", name_of(lengths.dtype()), lengths.shape(),
          q.dim(0));
  require(radius > 0, "local_p", "the radius must be positive, got {}", radius);
  const Variable features = tanh(linear(convert(q, DType::f32), w_p));
  const Variable share = sigmoid(linear(features, reshape(v_p, {1, v_p.dim(0)})));
  const Shape positions = {q.dim(0), q.dim(1), q.dim(2)};
  const Tensor L = lengths.contiguous_copy().to(DType::f32).reshape({q.dim(0), 1, 1}).expand(positions);
  const Variable p = multiply(reshape(share, positions), L);
  return {p, around(p.value(), static_cast<double>(radius)), gaussian_window(p, static_cast<double>(radius) / 2)};
}

}  // namespace qkv
