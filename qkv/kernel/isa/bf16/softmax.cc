// The softmax of a tile, rounded to bf16 on the way: what the products of pairs read is written at once, and
// nothing is read twice.

#include <math.h>

#include "qkv/kernel/isa/bf16/pairs.h"
#include "qkv/kernel/isa/bf16/round.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {
namespace {

// 2^x for x <= 0, zero below 2^-126, by a minimax polynomial of degree 3: a relative error of 7.5e-5, a twentieth
// of what rounding to bf16 costs.
QKV_INLINE vf rough_exp2_or_zero(vf x) {
  const __m512 y = reinterpret_cast<__m512>(x), n = nearest(y);
  const __mmask16 normal = _mm512_cmp_ps_mask(y, _mm512_set1_ps(-126.0f), _CMP_NLT_UQ);  // NaN stays NaN
  const vf f = x - reinterpret_cast<vf>(n);
  vf p = broadcast(0.0551716685f);
  p = p * f + 0.2426111251f;
  p = p * f + 0.6932609678f;
  p = p * f + 0.9999280572f;
  return reinterpret_cast<vf>(_mm512_maskz_scalef_ps(normal, reinterpret_cast<__m512>(p), n));
}

QKV_INLINE vf largest(const float* s, int64_t keys, int64_t width, vf m) {
  vf other = m;
  int64_t j = 0;
  for (; j + 1 < keys; j += 2) {
    m = max(m, load(s + j * width));
    other = max(other, load(s + (j + 1) * width));
  }
  if (j < keys) m = max(m, load(s + j * width));
  return max(m, other);
}

}  // namespace

void softmax_step_to_pairs(const float* s, int64_t keys, int64_t width, RunningSoftmax running, float* columns) {
  const vf zero = {};
  for (int64_t i = 0; i < width; i += lanes) {
    const vf old = load(running.maximum + i), m = largest(s + i, keys, width, old);
    const vf reference = m == -INFINITY ? zero : m;
    const vf rescale = exp2_or_zero((old - reference) * log2_e), shift = reference * log2_e;
    vf even = zero, odd = zero;
    int64_t j = 0;
    for (; j + 1 < keys; j += 2) {
      const vf p = rough_exp2_or_zero(load(s + j * width + i) * log2_e - shift);
      const vf q = rough_exp2_or_zero(load(s + (j + 1) * width + i) * log2_e - shift);
      even += p;
      odd += q;
      store(columns + j / 2 * width + i, rounded_side_by_side(p, q));
    }
    if (j < keys) {
      const vf p = rough_exp2_or_zero(load(s + j * width + i) * log2_e - shift);
      even += p;
      store(columns + j / 2 * width + i, rounded_side_by_side(p, zero));
    }
    store(running.maximum + i, m);
    store(running.rescale + i, rescale);
    store(running.sum + i, load(running.sum + i) * rescale + (even + odd));
  }
}

void weights_to_pairs(float* s, int64_t keys, int64_t width, const float* maximum, const float* inverse_sum,
                      uint16_t* rows) {
  for (int64_t i = 0; i < width; i += lanes) {
    const vf scale = load(inverse_sum + i);
    for (int64_t j = 0; j < keys; ++j) {
      const vf p = exp2_or_zero((load(s + j * width + i) - load(maximum + i)) * log2_e) * scale;
      store(s + j * width + i, p);
      store_rounded(rows + j * width + i, p);
    }
  }
}

void softmax_backward_to_pairs(const float* weights, const float* grad, int64_t keys, int64_t width,
                               const float* delta, uint16_t* rows, float* columns) {
  for (int64_t i = 0; i < width; i += lanes) {
    const vf d = load(delta + i);
    const auto gradient = [&](int64_t j) {
      const vf ds = load(weights + j * width + i) * (load(grad + j * width + i) - d);
      store_rounded(rows + j * width + i, ds);
      return ds;
    };
    int64_t j = 0;
    for (; j + 1 < keys; j += 2) {
      const vf low = gradient(j), high = gradient(j + 1);
      store(columns + j / 2 * width + i, rounded_side_by_side(low, high));
    }
    if (j < keys) store(columns + j / 2 * width + i, rounded_side_by_side(gradient(j), vf{}));
  }
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
