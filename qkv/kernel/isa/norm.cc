// Layer norm and RMS norm, one row at a time; formulas in row_kernels.h. With u = (x - mean) rstd and g = dy
// weight,
//
//     dx = rstd (g - mean(g) - u mean(g u))        (RMS norm: u = x rstd, without mean(g))
//     dweight += dy u,  dbias += dy
#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/rows.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {
namespace {

// A row that may be null.
template <class At>
QKV_INLINE vf load_or(At at, const float* row, int64_t i, float otherwise) {
  return row ? at(row + i) : broadcast(otherwise);
}

}  // namespace

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
    const vf w = load_or(at, weight, i, 1.0f), b = load_or(at, bias, i, 0.0f);
    at.put(y + i, fused((at(x + i) - middle) * r, w, b));
  });
  if (mean) *mean = middle;
  if (rstd) *rstd = r;
}

void layer_norm_backward(const float* dy, const float* x, const float* weight, float mean, float rstd, int64_t n,
                         float* dx, float* dweight_sum, float* dbias_sum) {
  const float width = static_cast<float>(n);
  const auto g_at = [&](auto at, int64_t i) {
    const vf w = load_or(at, weight, i, 1.0f);
    return at(dy + i) * w;
  };
  const float g_mean = sum_over(n, [&](auto at, int64_t i) { return g_at(at, i); }) / width;
  const float gu_mean =
      sum_over(n, [&](auto at, int64_t i) { return g_at(at, i) * ((at(x + i) - mean) * rstd); }) / width;
  const vf shift = broadcast(-g_mean), slope = broadcast(-gu_mean);
  each(n, [&](auto at, int64_t i) {
    const vf d = at(dy + i), u = (at(x + i) - mean) * rstd;
    const vf gradient = fused(u, slope, fused(d, load_or(at, weight, i, 1.0f), shift)) * rstd;
    if (dweight_sum) at.put(dweight_sum + i, fused(d, u, at(dweight_sum + i)));
    if (dbias_sum) at.put(dbias_sum + i, at(dbias_sum + i) + d);
    at.put(dx + i, gradient);
  });
}

void rms_norm(const float* x, const float* weight, int64_t n, float eps, float* y, float* rstd) {
  const float square =
      sum_over(n, [&](auto at, int64_t i) { return at(x + i) * at(x + i); }) / static_cast<float>(n);
  const float r = 1.0f / __builtin_sqrtf(square + eps);
  each(n, [&](auto at, int64_t i) { at.put(y + i, at(x + i) * r * load_or(at, weight, i, 1.0f)); });
  if (rstd) *rstd = r;
}

void rms_norm_backward(const float* dy, const float* x, const float* weight, float rstd, int64_t n, float* dx,
                       float* dweight_sum) {
  const auto g_at = [&](auto at, int64_t i) {
    const vf w = load_or(at, weight, i, 1.0f);
    return at(dy + i) * w;
  };
  const float gu_mean =
      sum_over(n, [&](auto at, int64_t i) { return g_at(at, i) * (at(x + i) * rstd); }) / static_cast<float>(n);
  const vf slope = broadcast(-gu_mean);
  each(n, [&](auto at, int64_t i) {
    const vf d = at(dy + i), u = at(x + i) * rstd;
    const vf gradient = fused(u, slope, g_at(at, i)) * rstd;
    if (dweight_sum) at.put(dweight_sum + i, fused(d, u, at(dweight_sum + i)));
    at.put(dx + i, gradient);
  });
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
