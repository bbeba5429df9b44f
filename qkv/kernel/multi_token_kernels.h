// The kernels of multi-token attention on a block of query rows: keys are rows, queries are lanes, as everywhere in
// attention (attention_kernels.h). A head of a block is (keys x width) floats, its rows contiguous; width is a
// multiple of the SIMD width, at most 64. visible has 64 bits for each key: bit i is set if query i sees it.
//
// An element is computed by the same operations in the same order in every lane, whatever the other lanes hold.
#pragma once

#include <cstdint>

namespace qkv::kernel {

// Over keys j and queries i of a head:
//     out[j][i] = sum_a sum_b taps[a][b] in[j + b - key_before][i + a - query_before]
// It reads key_before rows before `in` and the other taps after it. Past the ends of a row of queries it
// reads the neighboring rows: callers keep zeros there, or ignore those lanes.
struct Convolution {
  const float* in;
  float* out;
  int64_t keys, width;
  const float* taps;  // (query_taps x key_taps)
  int64_t query_taps, key_taps;
  int64_t query_before, key_before;
};

// `count` heads, each (keys x width) floats, `stride` apart.
struct HeadTiles {
  const float* data;
  int64_t stride, count;
};

struct MultiTokenKernels {
  void (*convolve)(const Convolution&);
  // The gradient of the taps, grad being that of `out` (whose values are not read):
  //     taps[a][b] += sum_ji grad[j][i] in[j + b - key_before][i + a - query_before]
  // grad is zero in the first query_before lanes, and in a row after the last one.
  void (*correlate)(const Convolution&, const float* grad, double* taps);

  // out = s where it is visible, else 0. out may be s.
  void (*clear)(const float* s, int64_t keys, int64_t width, const uint64_t* visible, float* out);

  // The softmax in three steps: maximum[i] is raised to the largest visible score; s becomes exp(s - maximum), 0
  // where it is not visible, and its sum is added to sum[i]; then s is multiplied by factor[i].
  void (*maximum)(const float* s, int64_t keys, int64_t width, const uint64_t* visible, float* maximum);
  void (*exponentials)(float* s, int64_t keys, int64_t width, const uint64_t* visible, const float* maximum,
                       float* sum);
  void (*scale)(float* s, int64_t keys, int64_t width, const float* factor);

  // sum[i] += sum_j a[j][i] b[j][i]
  void (*dot_columns)(const float* a, const float* b, int64_t keys, int64_t width, float* sum);
  // sums[r][c] += sum_ji a_r[j][i] b_c[j][i] over all heads r of a and c of b.
  void (*dot_all_heads)(const HeadTiles& a, const HeadTiles& b, int64_t keys, int64_t width, double* sums);
};

}  // namespace qkv::kernel
