// Attention of a single query, decoding: lanes run along the width of keys and values. Bound by the memory that K
// and V stream from; bf16 is half of it.

#include <math.h>

#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/halves.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {
namespace {

// Dot products of q with `lanes` keys, or as many as there are: one sum a key, then one transpose adds them up.
// Rows are read in order, and memory is what a single query waits for: ask for what comes next while computing.
constexpr int64_t rows_ahead = 32;

template <class T>
void scores(const float* q, const T* k, int64_t k_stride, int64_t keys, int64_t D, float scale, float* s) {
  for (int64_t j = 0; j < keys; j += lanes) {
    const int count = static_cast<int>(keys - j < lanes ? keys - j : lanes);
    vf sum[lanes] = {};
    const T* row = k + j * k_stride;
    if (count == lanes) {
      int64_t d = 0;
      for (; d + lanes <= D; d += lanes) {
        const vf x = load(q + d);
#pragma GCC unroll 16
        for (int i = 0; i < lanes; ++i) {
          __builtin_prefetch(row + (i + rows_ahead) * k_stride + d);
          sum[i] += x * load_as_float(row + i * k_stride + d);
        }
      }
      if (d < D) {
        const int n = static_cast<int>(D - d);
        const vf x = load_part(q + d, n);
        for (int i = 0; i < lanes; ++i) sum[i] += x * load_part_as_float(row + i * k_stride + d, n);
      }
    } else {
      for (int i = 0; i < count; ++i) {
        int64_t d = 0;
        for (; d + lanes <= D; d += lanes) sum[i] += load(q + d) * load_as_float(row + i * k_stride + d);
        const int n = static_cast<int>(D - d);
        if (n > 0) sum[i] += load_part(q + d, n) * load_part_as_float(row + i * k_stride + d, n);
      }
    }
    transpose(sum);
    vf total[lanes / 2];
#pragma GCC unroll 8
    for (int i = 0; i < lanes / 2; ++i) total[i] = sum[i] + sum[i + lanes / 2];
#pragma GCC unroll 4
    for (int half = lanes / 4; half > 0; half /= 2)
#pragma GCC unroll 4
      for (int i = 0; i < half; ++i) total[i] += total[i + half];
    if (count == lanes)
      store(s + j, total[0] * scale);
    else
      store_part(s + j, total[0] * scale, count);
  }
}

// NV vectors of columns, the keys in two interleaved sums each, so that additions do not wait for one another.
template <int NV, class T>
void output_columns(const float* w, const T* v, int64_t v_stride, int64_t keys, float rescale, float* out) {
  vf even[NV] = {}, odd[NV] = {};
  int64_t j = 0;
  for (; j + 1 < keys; j += 2) {
#pragma GCC unroll 4
    for (int n = 0; n < NV; ++n) {
      __builtin_prefetch(v + (j + rows_ahead) * v_stride + n * lanes);
      __builtin_prefetch(v + (j + rows_ahead + 1) * v_stride + n * lanes);
      even[n] += w[j] * load_as_float(v + j * v_stride + n * lanes);
      odd[n] += w[j + 1] * load_as_float(v + (j + 1) * v_stride + n * lanes);
    }
  }
  if (j < keys)
    for (int n = 0; n < NV; ++n) even[n] += w[j] * load_as_float(v + j * v_stride + n * lanes);
  for (int n = 0; n < NV; ++n) store(out + n * lanes, load(out + n * lanes) * rescale + (even[n] + odd[n]));
}

template <class T>
void output(const float* w, const T* v, int64_t v_stride, int64_t keys, int64_t E, float rescale, float* out) {
  int64_t e = 0;
  for (; e + 4 * lanes <= E; e += 4 * lanes) output_columns<4>(w, v + e, v_stride, keys, rescale, out + e);
  for (; e + lanes <= E; e += lanes) output_columns<1>(w, v + e, v_stride, keys, rescale, out + e);
  if (e < E) {
    const int n = static_cast<int>(E - e);
    vf sum = {};
    for (int64_t j = 0; j < keys; ++j) sum += w[j] * load_part_as_float(v + j * v_stride + e, n);
    store_part(out + e, load_part(out + e, n) * rescale + sum, n);
  }
}

}  // namespace

SingleQueryKernels<float> single_query() { return {.scores = scores<float>, .output = output<float>}; }
SingleQueryKernels<uint16_t> single_query_bf16() {
  return {.scores = scores<uint16_t>, .output = output<uint16_t>};
}

void single_softmax_step(float* s, int64_t n, RunningSoftmax running) {
  const vf zero = {};
  vf most = broadcast(*running.maximum);
  int64_t j = 0;
  for (; j + lanes <= n; j += lanes) most = max(most, load(s + j));
  const int left = static_cast<int>(n - j);
  if (left > 0) most = max(most, load_part(s + j, left, -INFINITY));
  const float maximum = max_lanes(most), reference = maximum == -INFINITY ? 0.0f : maximum;
  vf sum = zero;
  for (j = 0; j + lanes <= n; j += lanes) {
    const vf p = exp2_or_zero((load(s + j) - reference) * log2_e);
    store(s + j, p);
    sum += p;
  }
  if (left > 0) {
    const vf p = exp2_or_zero((load_part(s + j, left, -INFINITY) - reference) * log2_e);
    store_part(s + j, p, left);
    sum += p;
  }
  const vf old = broadcast((*running.maximum - reference) * log2_e);
  const float rescale = exp2_or_zero(old)[0];
  *running.maximum = maximum;
  *running.rescale = rescale;
  *running.sum = *running.sum * rescale + sum_lanes(sum);
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
