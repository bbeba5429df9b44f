// The steps between the two matrix products of a tile: masking, online softmax, softmax backward; and the
// transposes of queries and outputs.

#include <math.h>

#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/rows.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

void transpose_in(const float* in, int64_t in_stride, int64_t rows, int64_t columns, float* out, int64_t width,
                  int64_t out_stride) {
  for (int64_t i = 0; i < width; i += lanes) {
    for (int64_t c = 0; c < columns; c += lanes) {
      const int count = static_cast<int>(columns - c < lanes ? columns - c : lanes);
      vf square[lanes];
      if (count == lanes && i + lanes <= rows) {
        load_transposed(in + i * in_stride + c, in_stride, square);
#pragma GCC unroll 16
        for (int r = 0; r < lanes; ++r) store(out + (c + r) * out_stride + i, square[r]);
        continue;
      }
      for (int r = 0; r < lanes; ++r) {
        const float* row = in + (i + r) * in_stride + c;
        square[r] = i + r >= rows ? vf{} : count == lanes ? load(row) : load_part(row, count);
      }
      transpose(square);
      for (int r = 0; r < count; ++r) store(out + (c + r) * out_stride + i, square[r]);
    }
  }
}

void transpose_out(const float* in, int64_t width, int64_t rows, int64_t columns, const float* scale, float* out,
                   int64_t out_stride) {
  for (int64_t i = 0; i < rows; i += lanes) {
    for (int64_t c = 0; c < columns; c += lanes) {
      const int count = static_cast<int>(columns - c < lanes ? columns - c : lanes);
      vf square[lanes];
      if (count == lanes && i + lanes <= rows) {
        load_transposed(in + c * width + i, width, square);
#pragma GCC unroll 16
        for (int r = 0; r < lanes; ++r) store(out + (i + r) * out_stride + c, square[r] * broadcast(scale[i + r]));
        continue;
      }
      for (int r = 0; r < lanes; ++r) square[r] = r < count ? load(in + (c + r) * width + i) : vf{};
      transpose(square);
      for (int r = 0; r < lanes && i + r < rows; ++r) {
        float* row = out + (i + r) * out_stride + c;
        const vf x = square[r] * broadcast(scale[i + r]);
        if (count == lanes)
          store(row, x);
        else
          store_part(row, x, count);
      }
    }
  }
}

void mask(float* s, int64_t keys, int64_t width, const uint64_t* visible) {
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
    // For a query that has seen no key yet: any finite reference gives its masked scores the weight zero.
    const vf reference = m == -INFINITY ? zero : m;
    const vf rescale = exp2_or_zero((old - reference) * log2_e);
    vf sum = zero;
#pragma GCC unroll 4
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

namespace {

template <class T>
void dot_rows_of(const T* a, int64_t a_stride, const T* b, int64_t b_stride, int64_t rows, int64_t columns,
                 float* sum) {
  for (int64_t i = 0; i < rows; ++i, a += a_stride, b += b_stride)
    sum[i] = sum_over<32>(columns, [&](auto at, int64_t c) { return at(a + c) * at(b + c); });
}

}  // namespace

void dot_rows(const float* a, int64_t a_stride, const float* b, int64_t b_stride, int64_t rows, int64_t columns,
              float* sum) {
  dot_rows_of(a, a_stride, b, b_stride, rows, columns, sum);
}
void dot_rows_bf16(const uint16_t* a, int64_t a_stride, const uint16_t* b, int64_t b_stride, int64_t rows,
                   int64_t columns, float* sum) {
  dot_rows_of(a, a_stride, b, b_stride, rows, columns, sum);
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
