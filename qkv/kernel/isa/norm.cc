// Layer norm and RMS norm, one row at a time; formulas in row_kernels.h. With u = (x - mean) rstd and g = dy
// weight,
//
//     dx = rstd (g - mean(g) - u mean(g u))        (RMS norm: u = x rstd, without mean(g))
//     dweight += dy u,  dbias += dy
#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/rows.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

void layer_norm(const float* x, const float* weight, const float* bias, int64_t n, float eps, float* y, float* mean,
                float* rstd) {
  const float width = static_cast<float>(n);
  const float middle = sum_over(n, [&](auto at, int64_t i) { return at(x + i); }) / width;
  const float variance = sum_over(n,
                                  [&](auto at, int64_t i) {
                                    const vf u = at.only(at(x + i) - middle);
                                    return u * u;
                                  }) /
                         width;
  const float r = 1.0f / __builtin_sqrtf(variance + eps);
  each(n, [&](auto at, int64_t i) {
    vf u = (at(x + i) - middle) * r;
    if (weight) u = u * at(weight + i);
    if (bias) u = u + at(bias + i);
    at.put(y + i, u);
  });
  if (mean) *mean = middle;
  if (rstd) *rstd = r;
}

void layer_norm_backward(const float* dy, const float* x, const float* weight, float mean, float rstd, int64_t n,
                         float* dx, float* dweight_sum, float* dbias_sum) {
  const float width = static_cast<float>(n);
  const auto g_at = [&](auto at, int64_t i) {
    const vf g = at(dy + i);
    return weight ? g * at(weight + i) : g;
  };
  const float g_mean = sum_over(n, [&](auto at, int64_t i) { return g_at(at, i); }) / width;
  const float gu_mean =
      sum_over(n, [&](auto at, int64_t i) { return g_at(at, i) * ((at(x + i) - mean) * rstd); }) / width;
  each(n, [&](auto at, int64_t i) {
    const vf d = at(dy + i), u = (at(x + i) - mean) * rstd, g = g_at(at, i);
    if (dweight_sum) at.put(dweight_sum + i, at(dweight_sum + i) + d * u);
    if (dbias_sum) at.put(dbias_sum + i, at(dbias_sum + i) + d);
    at.put(dx + i, (g - g_mean - u * gu_mean) * rstd);
  });
}

void rms_norm(const float* x, const float* weight, int64_t n, float eps, float* y, float* rstd) {
  const float square =
      sum_over(n, [&](auto at, int64_t i) { return at(x + i) * at(x + i); }) / static_cast<float>(n);
  const float r = 1.0f / __builtin_sqrtf(square + eps);
  each(n, [&](auto at, int64_t i) {
    const vf u = at(x + i) * r;
    at.put(y + i, weight ? u * at(weight + i) : u);
  });
  if (rstd) *rstd = r;
}

void rms_norm_backward(const float* dy, const float* x, const float* weight, float rstd, int64_t n, float* dx,
                       float* dweight_sum) {
  const auto g_at = [&](auto at, int64_t i) {
    const vf g = at(dy + i);
    return weight ? g * at(weight + i) : g;
  };
  const float gu_mean =
      sum_over(n, [&](auto at, int64_t i) { return g_at(at, i) * (at(x + i) * rstd); }) / static_cast<float>(n);
  each(n, [&](auto at, int64_t i) {
    const vf d = at(dy + i), u = at(x + i) * rstd, g = g_at(at, i);
    if (dweight_sum) at.put(dweight_sum + i, at(dweight_sum + i) + d * u);
    at.put(dx + i, (g - u * gu_mean) * rstd);
  });
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
