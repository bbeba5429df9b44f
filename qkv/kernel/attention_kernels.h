// The loops of the attention engine on one tile: a block of queries by a block of keys.
//
// One orientation everywhere: lanes are queries, rows are keys. A tile of scores s holds the score of key j and
// query i at s[j * width + i]; width is the number of queries rounded up to the lanes of the machine. Statistics of
// the softmax are then vectors over queries: no sum or maximum ever runs across lanes, and K and V are read as they
// are stored.
//
// Minus infinity marks a hidden pair; its weight is exactly zero.
#pragma once

#include <cstdint>

namespace qkv::kernel {

// C (rows x width) = A (rows x depth) B (depth x width), plus C times what scale says. A may be read along rows
// (column_stride 1) or along columns (row_stride 1); B and C have contiguous rows; width is a multiple of the
// lanes.
struct TileProduct {
  const float* a;
  int64_t a_row_stride, a_column_stride;
  const float* b;
  int64_t b_row_stride;
  float* c;
  int64_t c_row_stride;
  int64_t rows, width, depth;
};

// The running softmax of a block of queries (Milakov and Gimelshein, 2018): the largest score so far, the sum of
// exp(score - maximum), and the factor that the sums so far must be multiplied with after a step.
struct RunningSoftmax {
  float* maximum;
  float* sum;
  float* rescale;
};

struct AttentionKernels {
  void (*product)(const TileProduct&);                              // C = A B
  void (*product_add)(const TileProduct&);                          // C += A B
  void (*product_rescale)(const TileProduct&, const float* scale);  // C = C * scale[column] + A B

  // out (columns x width) = scale * transpose of in (rows x columns); columns past `rows` are zero.
  void (*transpose_in)(const float* in, int64_t in_stride, int64_t rows, int64_t columns, float scale, float* out,
                       int64_t width);
  // out (rows x columns) = transpose of in (columns x width), row i times scale[i].
  void (*transpose_out)(const float* in, int64_t width, int64_t rows, int64_t columns, const float* scale,
                        float* out, int64_t out_stride);

  // Where bit i of visible[j] is 0, score (j, i) becomes minus infinity. width <= 64.
  void (*hide)(float* s, int64_t keys, int64_t width, const uint64_t* visible);

  // One step of the running softmax: s becomes exp(s - new maximum).
  void (*softmax_step)(float* s, int64_t keys, int64_t width, RunningSoftmax);

  // s becomes exp(s - maximum) * inverse_sum: the weights, from what the running softmax ended with. (Not exp(s -
  // lse): the rounding of lse alone would cost 1e-5 where scores are in the hundreds.)
  void (*weights)(float* s, int64_t keys, int64_t width, const float* maximum, const float* inverse_sum);

  // grad becomes weights * (grad - delta): the softmax backward, delta_i = sum_j weights_ij grad_ij.
  void (*softmax_backward)(const float* weights, float* grad, int64_t keys, int64_t width, const float* delta);

  // Additive score (Bahdanau et al., 2015): s_ji = sum_f w_f tanh(q_fi + k_jf). q is (features x width).
  void (*additive)(const float* q, int64_t width, const float* k, int64_t k_stride, int64_t keys, const float* w,
                   int64_t features, float* s);
  // ds (keys x width) flows to dq (features x width), dk (keys x features, stride dk_stride) and dw (features);
  // added.
  void (*additive_backward)(const float* q, int64_t width, const float* k, int64_t k_stride, int64_t keys,
                            const float* w, int64_t features, const float* ds, float* dq, float* dk,
                            int64_t dk_stride, float* dw);
};

}  // namespace qkv::kernel
