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

MaskPtr local_m(int64_t window) {
  require(window >= 0, "local_m", "the window is a number of positions to either side, got {}", window);
  return qkv::window(window, window, 0);
}

LocalP local_p(const Variable& q, const Variable& w_p, const Variable& v_p, const Tensor& lengths, int64_t window) {
  require(q.value().rank() == 4 && w_p.value().rank() == 2 && w_p.dim(1) == q.dim(3) &&
              v_p.shape() == Shape{w_p.dim(0)},
          "local_p", "q (B,H,T,D) is {}, w_p (F,D) is {}, v_p (F) is {}", q.shape(), w_p.shape(), v_p.shape());
  require(lengths.dtype() == DType::i32 && lengths.shape() == Shape{q.dim(0)}, "local_p",
          "lengths are i32 of shape (B), got {} {} for B {}", name_of(lengths.dtype()), lengths.shape(), q.dim(0));
  require(window > 0, "local_p", "the window is a positive number of positions to either side, got {}", window);
  const Variable features = tanh(linear(convert(q, DType::f32), w_p));
  const Variable share = sigmoid(linear(features, reshape(v_p, {1, v_p.dim(0)})));
  const Shape places = {q.dim(0), q.dim(1), q.dim(2)};
  const Tensor L = lengths.contiguous_copy().to(DType::f32).reshape({q.dim(0), 1, 1}).expand(places);
  const Variable p = multiply(reshape(share, places), L);
  return {p, around(p.value(), static_cast<double>(window)), gaussian_window(p, static_cast<double>(window) / 2)};
}

}  // namespace qkv
