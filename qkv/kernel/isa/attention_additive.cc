// Scores of additive attention (Bahdanau et al., 2015): s_ji = sum_f w_f tanh(q_fi + k_jf).
// Only the sums over f leave the registers: the (queries, keys, features) array never exists.

#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

// tanh(x) and its slope 1 - tanh(x)^2, from e = exp(-2 |x|): both keep their digits where tanh is nearly 1.
struct Tanh {
  vf value, slope;
};
QKV_INLINE Tanh tanh(vf x) {
  const vi magnitude = broadcast_i(0x7fffffff);
  const vf e = exp(from_bits(bits_of(x) & magnitude) * -2.0f), r = 1.0f / (1.0f + e);
  const vf t = (1.0f - e) * r;
  return {from_bits(bits_of(t) | (bits_of(x) & ~magnitude)), 4.0f * e * r * r};
}

void additive(const float* q, int64_t q_stride, int64_t width, const float* k, int64_t k_stride, int64_t keys,
              const float* w, int64_t features, float* s) {
  for (int64_t j = 0; j < keys; ++j) {
    for (int64_t i = 0; i < width; i += lanes) {
      vf sum = {};
      for (int64_t f = 0; f < features; ++f)
        sum += w[f] * tanh(load(q + f * q_stride + i) + k[j * k_stride + f]).value;
      store(s + j * width + i, sum);
    }
  }
}

void additive_backward(const float* q, int64_t q_stride, int64_t width, const float* k, int64_t k_stride,
                       int64_t keys, const float* w, int64_t features, const float* ds, float* dq, float* dk,
                       int64_t dk_stride, float* dw) {
  for (int64_t j = 0; j < keys; ++j) {
    for (int64_t f = 0; f < features; ++f) {
      vf to_k = {}, to_w = {};
      for (int64_t i = 0; i < width; i += lanes) {
        const vf d = load(ds + j * width + i);
        const Tanh t = tanh(load(q + f * q_stride + i) + k[j * k_stride + f]);
        const vf u = d * w[f] * t.slope;
        store(dq + f * q_stride + i, load(dq + f * q_stride + i) + u);
        to_k += u;
        to_w += d * t.value;
      }
      dk[j * dk_stride + f] += sum_lanes(to_k);
      dw[f] += sum_lanes(to_w);
    }
  }
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
