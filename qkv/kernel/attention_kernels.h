// The kernels of attention on one tile: a block of queries by a block of keys.
//
// One orientation everywhere: lanes are queries, rows are keys. A tile of scores s holds the score of key j and
// query i at s[j * width + i]; width is the number of queries rounded up to a multiple of the SIMD width.
// Statistics of the softmax are then vectors over queries: no sum or maximum runs across lanes, and K and V are
// read as they are stored.
//
// Products work on units of 32 bits: a float, or two bf16 that are neighbors along the summed axis, the first in
// the low half (VNNI layout). A product of two units is a product of floats, or the sum of two products of bf16;
// sums are floats in both. So one algorithm serves both types; only the packing of the operands differs.
//
// The score of a masked pair is minus infinity; its weight is exactly zero.
#pragma once

#include <cstdint>

namespace qkv::kernel {

// C (rows x width) = A (rows x depth) B (depth x width), plus C times a factor that the kind of product sets. A may
// be read along rows (column_stride 1) or along columns (row_stride 1); B and C have contiguous rows; width is a
// multiple of the SIMD width. a and b are units, c are floats, strides count units.
struct TileProduct {
  const float* a = nullptr;
  int64_t a_row_stride = 0, a_column_stride = 0;
  const float* b = nullptr;
  int64_t b_row_stride = 0;
  float* c = nullptr;
  int64_t c_row_stride = 0;
  int64_t rows = 0, width = 0, depth = 0;
  float scale = 1.0f;           // of A B, where C is overwritten
  const float* bias = nullptr;  // of each column, added where C is overwritten with scale 1; null: none
  const float* next = nullptr;  // the B of the next product, of the same shape, if it is still in memory
};

struct TileProducts {
  void (*overwrite)(const TileProduct&);                     // C = scale * A B + bias
  void (*add)(const TileProduct&);                           // C += A B
  void (*rescale)(const TileProduct&, const float* factor);  // C = C * factor[column] + A B
};

// The running statistics of the online softmax (Milakov and Gimelshein, 2018) of a block of queries: the largest
// score so far, the sum of exp(score - maximum), and the factor that rescales earlier sums after a step.
struct RunningSoftmax {
  float* maximum;
  float* sum;
  float* rescale;
};

// Products of bf16 and the packing of their operands. In VNNI layout, row r of units holds rows 2r and 2r + 1.
struct Bf16Kernels {
  // Called before and after a run of products, on the thread that computes them: AMX configures its tiles.
  void (*begin)();
  void (*end)();
  TileProducts products;
  // Whether an A that is summed over keys should be transposed when it is packed, instead of read along columns.
  bool columns_as_rows;
  // Rows of bf16 to VNNI layout: out (ceil(rows/2) x width) units; zero after the last row and column.
  void (*interleave)(const uint16_t* in, int64_t in_stride, int64_t rows, int64_t columns, float* out,
                     int64_t width);
  // The same from rows of floats, rounded.
  void (*interleave_rounded)(const float* in, int64_t in_stride, int64_t rows, int64_t columns, float* out,
                             int64_t width);
  // n floats rounded to bf16.
  void (*round)(const float* in, int64_t n, uint16_t* out);

  // The kernels of the same names below, with results rounded for the products: rows are bf16 (keys x width),
  // columns are in VNNI layout (ceil(keys/2) x width units). s and grad are only read, but weights() writes s.
  // Scores are still to be multiplied by `scale` > 0.
  void (*softmax_step)(const float* s, int64_t keys, int64_t width, float scale, RunningSoftmax, float* columns);
  void (*weights)(float* s, int64_t keys, int64_t width, float scale, const float* maximum,
                  const float* inverse_sum, uint16_t* rows);
  void (*softmax_backward)(const float* weights, const float* grad, int64_t keys, int64_t width, const float* delta,
                           uint16_t* rows, float* columns);
};

// Single queries, as in decoding: lanes are columns of keys and values, and the scores of a query are a row.
// Several queries that read the same keys read them once. T is float, uint16_t for the bits of a bf16, or int8_t for
// integers, whose scales the caller multiplies.

// The row that is prefetched while one is read: so many rows further, or for rows from `inside` on, which are the last ones of
// their head, so many numbers further.
struct RowAhead {
  int64_t rows, inside, beyond;

  int64_t numbers(int64_t row, int64_t stride) const { return row < inside ? rows * stride : beyond; }
};

template <class T>
struct SingleScores {  // s_ij = scale * q_i . k_j
  const float* q;
  int64_t q_stride, queries;
  const T* k;
  int64_t k_stride, keys, D;
  RowAhead ahead;
  float scale;
  float* s;
  int64_t s_stride;
};

template <class T>
struct SingleOutput {  // out_i = out_i * rescale[i] + sum_j w_ij v_j
  const float* w;
  int64_t w_stride, queries;
  const T* v;
  int64_t v_stride, keys, E;
  RowAhead ahead;
  const float* rescale;
  float* out;
  int64_t out_stride;
};

template <class T>
struct SingleQueryKernels {
  void (*scores)(const SingleScores<T>&);
  void (*output)(const SingleOutput<T>&);
};

struct AdditiveTile {
  const float* q;  // (features x width)
  int64_t q_stride, width;
  const float* k;  // (keys x features)
  int64_t k_stride, keys;
  const float* w;  // (features)
  int64_t features;
};

// The gradients are added to these.
struct AdditiveGradients {
  float* dq;  // (features x width), rows q_stride apart
  float* dk;  // (keys x features)
  int64_t dk_stride;
  float* dw;  // (features)
};

struct AttentionKernels {
  TileProducts products;
  const Bf16Kernels* bf16;  // null where the instruction set has no products of bf16

  SingleQueryKernels<float> single;
  SingleQueryKernels<uint16_t> single_bf16;
  SingleQueryKernels<int8_t> single_int8;
  // One step of the online softmax of a single query over n scores.
  void (*single_softmax_step)(float* s, int64_t n, RunningSoftmax);

  // out (columns x width, with a stride) = transpose of in (rows x columns), in units; columns past `rows` are
  // zero.
  void (*transpose_in)(const float* in, int64_t in_stride, int64_t rows, int64_t columns, float* out, int64_t width,
                       int64_t out_stride);
  // out (rows x columns) = transpose of in (columns x width), row i times scale[i]; scale has `width` elements.
  void (*transpose_out)(const float* in, int64_t width, int64_t rows, int64_t columns, const float* scale,
                        float* out, int64_t out_stride);

  // Score (j, i) becomes minus infinity where bit i of visible[j] is 0. width <= 64.
  void (*mask)(float* s, int64_t keys, int64_t width, const uint64_t* visible);

  // One step of the online softmax: s becomes exp(s - new maximum).
  void (*softmax_step)(float* s, int64_t keys, int64_t width, RunningSoftmax);

  // s becomes exp(s - maximum) * inverse_sum: the weights, from the final statistics of the online softmax. (Not
  // exp(s - lse): the rounding of lse alone would cost 1e-5 where scores are in the hundreds.)
  void (*weights)(float* s, int64_t keys, int64_t width, const float* maximum, const float* inverse_sum);

  // grad becomes weights * (grad - delta): the softmax backward, delta_i = sum_j weights_ij grad_ij.
  void (*softmax_backward)(const float* weights, float* grad, int64_t keys, int64_t width, const float* delta);

  // sum[i] = a_i . b_i over rows of two (rows x columns) arrays.
  void (*dot_rows)(const float* a, int64_t a_stride, const float* b, int64_t b_stride, int64_t rows,
                   int64_t columns, float* sum);
  void (*dot_rows_bf16)(const uint16_t* a, int64_t a_stride, const uint16_t* b, int64_t b_stride, int64_t rows,
                        int64_t columns, float* sum);

  // Additive score (Bahdanau et al., 2015): s_ji = sum_f w_f tanh(q_fi + k_jf). Both need additive_memory() floats.
  int64_t (*additive_memory)(const AdditiveTile&);
  void (*additive)(const AdditiveTile&, float* s, float* memory);
  void (*additive_backward)(const AdditiveTile&, const float* ds, const AdditiveGradients&, float* memory);

  // Half of the squared distance, negative: s_ji = -1/2 sum_d (q_di - k_jd)^2. Differences are squared, so close
  // points far from the origin keep their precision. q is (D x width), rows q_stride apart, and so is dq;
  // gradients are added.
  void (*distance)(const float* q, int64_t q_stride, int64_t width, const float* k, int64_t k_stride, int64_t keys,
                   int64_t D, float* s);
  void (*distance_backward)(const float* q, int64_t q_stride, int64_t width, const float* k, int64_t k_stride,
                            int64_t keys, int64_t D, const float* ds, float* dq, float* dk, int64_t dk_stride);
};

}  // namespace qkv::kernel
