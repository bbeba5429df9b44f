// The softmax of a tile with results rounded to bf16, in the layouts that the products read, in one pass.

#include <math.h>

#include "qkv/kernel/isa/bf16/functions.h"
#include "qkv/kernel/isa/bf16/round.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {
namespace {

// 2^x for x <= 0, zero below 2^-126, by a minimax polynomial of degree 3: a relative error of 7.5e-5, a twentieth
// of that of rounding to bf16. x = n + f with f in [0, 1).
QKV_INLINE vf rough_exp2_polynomial(vf f) {
  vf p = broadcast(0.0780230066f);
  p = p * f + 0.226069391f;
  p = p * f + 0.695832847f;
  return p * f + 0.999925245f;
}
QKV_INLINE vf rough_exp2_or_zero(vf x) {
#if defined(__AVX512F__)
  const __m512 y = reinterpret_cast<__m512>(x);
  const __mmask16 normal = _mm512_cmp_ps_mask(y, _mm512_set1_ps(-126.0f), _CMP_NLT_UQ);  // NaN stays NaN
  const vf f = reinterpret_cast<vf>(_mm512_maskz_reduce_ps(0xffff, y, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
  // scalef computes n from x.
  return reinterpret_cast<vf>(
      _mm512_maskz_scalef_ps(normal, reinterpret_cast<__m512>(rough_exp2_polynomial(f)), y));
#elif defined(__aarch64__)
  const float32x4_t n = vrndmq_f32(reinterpret_cast<float32x4_t>(x));
  const vf p = rough_exp2_polynomial(x - reinterpret_cast<vf>(n)), zero = {};
  const vu exponent = reinterpret_cast<vu>(vcvtq_s32_f32(n)) << 23;
  return x < -126.0f ? zero : reinterpret_cast<vf>(reinterpret_cast<vu>(p) + exponent);
#endif
}

// The largest of each column of scores. Eight independent chains overlap.
QKV_INLINE vf largest(const float* s, int64_t keys, int64_t width) {
  constexpr int chains = 8;
  vf m[chains];
  for (vf& x : m) x = broadcast(-INFINITY);
  int64_t j = 0;
  for (; j + chains <= keys; j += chains)
#pragma GCC unroll 8
    for (int c = 0; c < chains; ++c) m[c] = max(m[c], load(s + (j + c) * width));
  for (; j < keys; ++j) m[0] = max(m[0], load(s + j * width));
  for (int half = chains / 2; half > 0; half /= 2)
    for (int c = 0; c < half; ++c) m[c] = max(m[c], m[c + half]);
  return m[0];
}

// Stores two rounded keys of a tile as two rows.
QKV_INLINE void store_rows(uint16_t* rows, int64_t width, two_vs both) {
  store_shorts(rows, lower(both));
  store_shorts(rows + width, upper(both));
}

}  // namespace

void softmax_step_to_bf16(const float* s, int64_t keys, int64_t width, float scale, RunningSoftmax running,
                          float* columns) {
  const vf zero = {};
  for (int64_t i = 0; i < width; i += lanes) {
    const vf old = load(running.maximum + i), m = max(old, largest(s + i, keys, width) * scale);
    const vf reference = m == -INFINITY ? zero : m;
    const vf rescale = exp2_or_zero((old - reference) * log2_e), shift = reference * log2_e;
    const vf factor = broadcast(scale * log2_e);
    vf even = zero, odd = zero;
    int64_t j = 0;
    for (; j + 1 < keys; j += 2) {
      const vf p = rough_exp2_or_zero(load(s + j * width + i) * factor - shift);
      const vf q = rough_exp2_or_zero(load(s + (j + 1) * width + i) * factor - shift);
      even += p;
      odd += q;
      store(columns + j / 2 * width + i, side_by_side(rounded_both(p, q)));
    }
    if (j < keys) {
      const vf p = rough_exp2_or_zero(load(s + j * width + i) * factor - shift);
      even += p;
      store(columns + j / 2 * width + i, side_by_side(rounded_both(p, zero)));
    }
    store(running.maximum + i, m);
    store(running.rescale + i, rescale);
    store(running.sum + i, load(running.sum + i) * rescale + (even + odd));
  }
}

void weights_to_bf16(float* s, int64_t keys, int64_t width, float scale, const float* maximum,
                     const float* inverse_sum, uint16_t* rows) {
  const vf factor = broadcast(scale * log2_e);
  for (int64_t i = 0; i < width; i += lanes) {
    const vf shift = load(maximum + i) * log2_e, share = load(inverse_sum + i);
    const auto weight = [&](int64_t j) {
      float* at = s + j * width + i;
      // In full precision: the gradient of a score is a small difference of terms of its row.
      const vf p = exp2_or_zero(load(at) * factor - shift) * share;
      store(at, p);
      return p;
    };
    int64_t j = 0;
    for (; j + 1 < keys; j += 2) {
      const vf low = weight(j), high = weight(j + 1);
      store_rows(rows + j * width + i, width, rounded_both(low, high));
    }
    if (j < keys) store_rounded(rows + j * width + i, weight(j));
  }
}

void softmax_backward_to_bf16(const float* weights, const float* grad, int64_t keys, int64_t width,
                              const float* delta, uint16_t* rows, float* columns) {
  for (int64_t i = 0; i < width; i += lanes) {
    const vf d = load(delta + i);
    const auto gradient = [&](int64_t j) {
      return load(weights + j * width + i) * (load(grad + j * width + i) - d);
    };
    int64_t j = 0;
    for (; j + 1 < keys; j += 2) {
      const two_vs both = rounded_both(gradient(j), gradient(j + 1));
      store_rows(rows + j * width + i, width, both);
      store(columns + j / 2 * width + i, side_by_side(both));
    }
    if (j < keys) {
      const vf last = gradient(j);
      store_rounded(rows + j * width + i, last);
      store(columns + j / 2 * width + i, side_by_side(rounded_both(last, vf{})));
    }
  }
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
