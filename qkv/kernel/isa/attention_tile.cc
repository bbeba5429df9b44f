// What happens to a tile of scores between its two matrix products: hiding, the running softmax, the softmax
// backward; and the transposes that bring queries in and outputs out.

#include <math.h>

#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

void transpose_in(const float* in, int64_t in_stride, int64_t rows, int64_t columns, float scale, float* out,
                  int64_t width) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t c = 0; c < columns; ++c) out[c * width + i] = scale * in[i * in_stride + c];
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t i = rows; i < width; ++i) out[c * width + i] = 0.0f;
}

void transpose_out(const float* in, int64_t width, int64_t rows, int64_t columns, const float* scale, float* out,
                   int64_t out_stride) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t c = 0; c < columns; ++c) out[i * out_stride + c] = scale[i] * in[c * width + i];
}

void hide(float* s, int64_t keys, int64_t width, const uint64_t* visible) {
  vi bit;
  for (int i = 0; i < lanes; ++i) bit[i] = 1 << i;
  for (int64_t j = 0; j < keys; ++j) {
    for (int64_t i = 0; i < width; i += lanes) {
      float* p = s + j * width + i;
      const vi word = broadcast_i(static_cast<int32_t>(visible[j] >> i));
      store(p, (word & bit) != 0 ? load(p) : broadcast(-INFINITY));
    }
  }
}

// 2^x, and zero (not a denormal, not 2^-126) for everything below 2^-126: a hidden pair weighs nothing.
QKV_INLINE vf exp2_or_zero(vf x) {
  const vf zero = {};
  return x < -126.0f ? zero : exp2(x);
}

void softmax_step(float* s, int64_t keys, int64_t width, RunningSoftmax running) {
  const vf zero = {};
  for (int64_t i = 0; i < width; i += lanes) {
    const vf old = load(running.maximum + i);
    vf m = old, m1 = old;
    int64_t j = 0;
    for (; j + 1 < keys; j += 2) {
      m = max(m, load(s + j * width + i));
      m1 = max(m1, load(s + (j + 1) * width + i));
    }
    if (j < keys) m = max(m, load(s + j * width + i));
    m = max(m, m1);
    // A query that has seen no key yet: any finite reference gives its hidden scores the weight zero.
    const vf reference = m == -INFINITY ? zero : m;
    const vf rescale = exp2_or_zero((old - reference) * log2_e);
    vf sum = zero;
    for (j = 0; j < keys; ++j) {
      const vf p = exp2_or_zero((load(s + j * width + i) - reference) * log2_e);
      sum += p;
      store(s + j * width + i, p);
    }
    store(running.maximum + i, m);
    store(running.rescale + i, rescale);
    store(running.sum + i, load(running.sum + i) * rescale + sum);
  }
}

void weights(float* s, int64_t keys, int64_t width, const float* maximum, const float* inverse_sum) {
  for (int64_t i = 0; i < width; i += lanes) {
    const vf m = load(maximum + i), scale = load(inverse_sum + i);
    for (int64_t j = 0; j < keys; ++j)
      store(s + j * width + i, exp2_or_zero((load(s + j * width + i) - m) * log2_e) * scale);
  }
}

void tile_softmax_backward(const float* weights, float* grad, int64_t keys, int64_t width, const float* delta) {
  for (int64_t i = 0; i < width; i += lanes) {
    const vf d = load(delta + i);
    for (int64_t j = 0; j < keys; ++j) {
      const int64_t at = j * width + i;
      store(grad + at, load(weights + at) * (load(grad + at) - d));
    }
  }
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
