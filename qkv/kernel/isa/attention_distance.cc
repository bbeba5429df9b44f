// Scores by distance: s_ji = -1/2 sum_d (q_di - k_jd)^2.
// A few keys at a time share the loads of the queries; every score is still one chain of multiply-adds.

#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

namespace {

constexpr int64_t keys_at_a_time = 4;

template <int64_t n>
QKV_INLINE void scores_of(const float* q, int64_t q_stride, int64_t width, const float* k, int64_t k_stride,
                          int64_t D, float* s) {
  for (int64_t i = 0; i < width; i += lanes) {
    vf sum[n] = {};
    for (int64_t d = 0; d < D; ++d) {
      const vf query = load(q + d * q_stride + i);
#pragma GCC unroll 4
      for (int64_t j = 0; j < n; ++j) {
        const vf difference = query - k[j * k_stride + d];
        sum[j] += difference * difference;
      }
    }
    for (int64_t j = 0; j < n; ++j) store(s + j * width + i, sum[j] * -0.5f);
  }
}

// ds/dq = -(q - k), ds/dk = q - k
template <int64_t n>
QKV_INLINE void gradients_of(const float* q, int64_t q_stride, int64_t width, const float* k, int64_t k_stride,
                             int64_t D, const float* ds, float* dq, float* dk, int64_t dk_stride) {
  for (int64_t d = 0; d < D; ++d) {
    vf to_k[n][sums_vectors] = {};
#pragma GCC unroll 4
    for (int p = 0; p < sums_vectors; ++p)
      for (int64_t i = p * lanes; i < width; i += partial_sums) {
        const vf query = load(q + d * q_stride + i);
        vf to_q = load(dq + d * q_stride + i);
#pragma GCC unroll 4
        for (int64_t j = 0; j < n; ++j) {
          const vf u = load(ds + j * width + i) * (query - k[j * k_stride + d]);
          to_q -= u;
          to_k[j][p] += u;
        }
        store(dq + d * q_stride + i, to_q);
      }
    for (int64_t j = 0; j < n; ++j) dk[j * dk_stride + d] += sum_all(to_k[j]);
  }
}

}  // namespace

void distance(const float* q, int64_t q_stride, int64_t width, const float* k, int64_t k_stride, int64_t keys,
              int64_t D, float* s) {
  int64_t j = 0;
  for (; j + keys_at_a_time <= keys; j += keys_at_a_time)
    scores_of<keys_at_a_time>(q, q_stride, width, k + j * k_stride, k_stride, D, s + j * width);
  for (; j < keys; ++j) scores_of<1>(q, q_stride, width, k + j * k_stride, k_stride, D, s + j * width);
}

void distance_backward(const float* q, int64_t q_stride, int64_t width, const float* k, int64_t k_stride,
                       int64_t keys, int64_t D, const float* ds, float* dq, float* dk, int64_t dk_stride) {
  int64_t j = 0;
  for (; j + keys_at_a_time <= keys; j += keys_at_a_time)
    gradients_of<keys_at_a_time>(q, q_stride, width, k + j * k_stride, k_stride, D, ds + j * width, dq,
                                 dk + j * dk_stride, dk_stride);
  for (; j < keys; ++j)
    gradients_of<1>(q, q_stride, width, k + j * k_stride, k_stride, D, ds + j * width, dq, dk + j * dk_stride,
                    dk_stride);
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
