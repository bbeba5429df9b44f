#include "qkv/op/norm.h"

#include <cmath>
#include <utility>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/kernel/kernels.h"
#include "qkv/op/kept_input.h"
#include "qkv/op/rows.h"

namespace qkv {
namespace {

// Calls normalize(row, mean, rstd) for each row of x and y, with places for what the backward needs of it; null: not kept.
template <class Normalize>
void for_each_row_of(const Tensor& x, float* mean, float* rstd, Normalize normalize) {
  const int64_t C = x.dim(-1);
  for_each_row(x.numel() / C, C, [&](int64_t m) {
    float unused_mean = 0, unused_rstd = 0;
    normalize(m, mean ? mean + m : &unused_mean, rstd ? rstd + m : &unused_rstd);
  });
}

Tensor layer_normed(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps, float* mean,
                    float* rstd) {
  Tensor y = Tensor::empty(x.shape());
  const int64_t C = x.dim(-1);
  const float *from = x.data<float>(), *w = weight.data<float>(), *b = bias.data<float>();
  float* const to = y.data<float>();
  for_each_row_of(x, mean, rstd, [&](int64_t m, float* mu, float* r) {
    kernel::kernels().rows.layer_norm(from + m * C, w, b, C, eps, to + m * C, mu, r);
  });
  return y;
}

Tensor rms_normed(const Tensor& x, const Tensor& weight, float eps, float* rstd) {
  Tensor y = Tensor::empty(x.shape());
  const int64_t C = x.dim(-1);
  const float *from = x.data<float>(), *w = weight.data<float>();
  float* const to = y.data<float>();
  for_each_row_of(x, nullptr, rstd, [&](int64_t m, float*, float* r) {
    kernel::kernels().rows.rms_norm(from + m * C, w, C, eps, to + m * C, r);
  });
  return y;
}

}  // namespace

Variable layer_norm(const Variable& x, const Variable& weight, const Variable& bias, float eps) {
  const int64_t C = x.dim(-1);
  if (C <= 0 || weight.shape() != Shape{C} || (bias.defined() && bias.shape() != Shape{C}))
    fail("layer_norm", "x (..., C) is {}, weight (C) is {}, bias (C) is {}", x.shape(), weight.shape(),
         bias.defined() ? to_string(bias.shape()) : "not given");
  const OpScope scope("layer_norm", OpWork::moves(x.value(), 2));
  Tensor copies[3];
  const Tensor& in = x.value().contiguous_in(copies[0]);
  const Tensor& weights = weight.value().contiguous_in(copies[1]);
  if (!bias.defined()) copies[2] = Tensor::zeros({C});
  const Tensor& biases = bias.defined() ? bias.value().contiguous_in(copies[2]) : copies[2];
  const int64_t M = in.numel() / C;
  if (!recording({x, weight, bias})) return layer_normed(in, weights, biases, eps, nullptr, nullptr);
  Tensor mean = Tensor::empty({M}), rstd = Tensor::empty({M});
  Tensor y = layer_normed(in, weights, biases, eps, mean.data<float>(), rstd.data<float>());
  const Recomputation kept = kept_value(x, in);
  return record("layer_norm", {x, weight, bias}, std::move(y),
                [kept, weights, mean, rstd, M, C](const Tensor& grad, const std::vector<bool>&) {
                  count_work(OpWork::moves(grad, 3));
                  const Tensor input = kept().contiguous_copy();
                  const Tensor dy = grad.contiguous_copy();
                  Tensor dx = Tensor::empty(input.shape());
                  const float *x0 = input.data<float>(), *g = dy.data<float>(), *scale = weights.data<float>();
                  const float *mu0 = mean.data<float>(), *r0 = rstd.data<float>();
                  float* out = dx.data<float>();
                  // The sums of dweight are followed by those of dbias.
                  const Tensor sums = sum_over_rows(M, 2 * C, [&](int64_t begin, int64_t end, float* s) {
                    for (int64_t m = begin; m < end; ++m)
                      kernel::kernels().rows.layer_norm_backward(g + m * C, x0 + m * C, scale, mu0[m], r0[m], C,
                                                                 out + m * C, s, s + C);
                  });
                  return std::vector<Tensor>{dx, sums.slice(0, 0, C), sums.slice(0, C, 2 * C)};
                })
      .recomputed_by([kept, weights, biases, eps] {
        return layer_normed(kept().contiguous_copy(), weights, biases, eps, nullptr, nullptr);
      });
}

Variable rms_norm(const Variable& x, const Variable& weight, float eps) {
  const int64_t C = x.dim(-1);
  require(C > 0 && weight.shape() == Shape{C}, "rms_norm", "x (..., C) is {}, weight (C) is {}", x.shape(),
          weight.shape());
  const OpScope scope("rms_norm", OpWork::moves(x.value(), 2));
  Tensor copies[2];
  const Tensor &in = x.value().contiguous_in(copies[0]), &weights = weight.value().contiguous_in(copies[1]);
  const int64_t M = in.numel() / C;
  if (!recording({x, weight})) return rms_normed(in, weights, eps, nullptr);
  Tensor rstd = Tensor::empty({M});
  Tensor y = rms_normed(in, weights, eps, rstd.data<float>());
  const Recomputation kept = kept_value(x, in);
  return record("rms_norm", {x, weight}, std::move(y),
                [kept, weights, rstd, M, C](const Tensor& grad, const std::vector<bool>&) {
                  count_work(OpWork::moves(grad, 3));
                  const Tensor input = kept().contiguous_copy();
                  const Tensor dy = grad.contiguous_copy();
                  Tensor dx = Tensor::empty(input.shape());
                  const float *x0 = input.data<float>(), *g = dy.data<float>(), *scale = weights.data<float>();
                  const float* r0 = rstd.data<float>();
                  float* out = dx.data<float>();
                  const Tensor dweight = sum_over_rows(M, C, [&](int64_t begin, int64_t end, float* s) {
                    for (int64_t m = begin; m < end; ++m)
                      kernel::kernels().rows.rms_norm_backward(g + m * C, x0 + m * C, scale, r0[m], C, out + m * C,
                                                               s);
                  });
                  return std::vector<Tensor>{dx, dweight};
                })
      .recomputed_by([kept, weights, eps] { return rms_normed(kept().contiguous_copy(), weights, eps, nullptr); });
}

// dx = (dy - y (y . dy)) / |x|
Variable unit_norm(const Variable& x) {
  const OpScope scope("unit_norm", OpWork::moves(x.value(), 2));
  const Tensor in = x.value().contiguous_copy();
  const int64_t C = x.dim(-1), M = C > 0 ? in.numel() / C : 0;
  Tensor y = Tensor::empty(in.shape()), inverse = Tensor::empty({M});
  const float* from = in.data<float>();
  float *to = y.data<float>(), *r = inverse.data<float>();
  for_each_row(M, C, [&](int64_t m) {
    const double squares = kernel::kernels().rows.sum_of_squares(from + m * C, C);
    r[m] = squares > 0 ? static_cast<float>(1.0 / std::sqrt(squares)) : 0.0f;
    kernel::kernels().rows.scale(from + m * C, r[m], C, to + m * C);
  });
  return record("unit_norm", {x}, y, [y, inverse, M, C](const Tensor& grad, const std::vector<bool>&) {
    count_work(OpWork::moves(grad, 3));
    const Tensor dy = grad.contiguous_copy();
    Tensor dx = Tensor::empty(y.shape());
    const float *y0 = y.data<float>(), *g = dy.data<float>(), *r0 = inverse.data<float>();
    float* out = dx.data<float>();
    for_each_row(M, C, [&](int64_t m) {
      float along = 0.0f;  // y . dy
      kernel::kernels().attention.dot_rows(y0 + m * C, C, g + m * C, C, 1, C, &along);
      kernel::kernels().rows.scale(g + m * C, r0[m], C, out + m * C);
      kernel::kernels().rows.add_scaled(y0 + m * C, -along * r0[m], C, out + m * C);
    });
    return std::vector<Tensor>{dx};
  });
}

}  // namespace qkv
