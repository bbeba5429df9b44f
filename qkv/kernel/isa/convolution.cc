// Convolution of a block of attention scores over keys and queries, and the gradient of its taps.

#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {
namespace {

// There is a register for each tap along the keys; convolutions with more taps take several passes.
#if defined(__AVX512F__)
constexpr int max_taps = 16;
#else
constexpr int max_taps = 12;
#endif

// Taps [first, first + taps) of every row of taps. A row of `in` is loaded once for each tap along the queries, and
// added to all rows of `out` that it belongs to; the sums shift by one register when the oldest is complete. A pass
// continues the sums of the pass before: the order does not depend on the number of passes.
template <int taps>
void convolve_pass(const Convolution& c, int64_t first) {
  for (int64_t i = 0; i < c.width; i += lanes) {
    vf sum[taps];
#pragma GCC unroll 16
    for (int b = 0; b < taps; ++b) sum[b] = vf{};
    const float* in = c.in + (first - c.key_before) * c.width + i - c.query_before;
    for (int64_t t = 0; t < c.keys + taps - 1; ++t, in += c.width) {
      if (first > 0 && t < c.keys) sum[0] = load(c.out + t * c.width + i);
      const float* k = c.taps + first;
      for (int64_t a = 0; a < c.query_taps; ++a, k += c.key_taps) {
        const vf x = load(in + a);
#pragma GCC unroll 16
        for (int b = 0; b < taps; ++b) sum[b] += k[b] * x;
      }
      if (t >= taps - 1) store(c.out + (t - taps + 1) * c.width + i, sum[taps - 1]);
#pragma GCC unroll 16
      for (int b = taps - 1; b > 0; --b) sum[b] = sum[b - 1];
      sum[0] = vf{};
    }
  }
}

// Vectors of `in` are aligned, gradients are shifted: one unaligned load is shared by all taps of a row. Sums of
// floats are short, and are added up in double.
template <int taps>
void correlate_pass(const Convolution& c, const float* grad, double* out, int64_t first) {
  constexpr int64_t few_keys = 32;
  for (int64_t a = 0; a < c.query_taps; ++a)
    for (int64_t begin = 0; begin < c.keys; begin += few_keys) {
      const int64_t end = begin + few_keys < c.keys ? begin + few_keys : c.keys;
      vf sums[taps][sums_vectors];
#pragma GCC unroll 4
      for (int p = 0; p < sums_vectors; ++p) {
        vf sum[taps];
#pragma GCC unroll 16
        for (int b = 0; b < taps; ++b) sum[b] = vf{};
        for (int64_t i = p * lanes; i < c.width; i += partial_sums)
          for (int64_t j = begin; j < end; ++j) {
            const vf g = load(grad + j * c.width + i + c.query_before - a);
            const float* in = c.in + (j + first - c.key_before) * c.width + i;
#pragma GCC unroll 16
            for (int b = 0; b < taps; ++b) sum[b] += g * load(in + b * c.width);
          }
#pragma GCC unroll 16
        for (int b = 0; b < taps; ++b) sums[b][p] = sum[b];
      }
#pragma GCC unroll 16
      for (int b = 0; b < taps; ++b) out[a * c.key_taps + first + b] += static_cast<double>(sum_all(sums[b]));
    }
}

using Convolve = void (*)(const Convolution&, int64_t);
using Correlate = void (*)(const Convolution&, const float*, double*, int64_t);

constexpr Convolve convolve_passes[] = {
    convolve_pass<1>,  convolve_pass<2>,  convolve_pass<3>,  convolve_pass<4>, convolve_pass<5>,
    convolve_pass<6>,  convolve_pass<7>,  convolve_pass<8>,  convolve_pass<9>, convolve_pass<10>,
    convolve_pass<11>, convolve_pass<12>,
#if defined(__AVX512F__)
    convolve_pass<13>, convolve_pass<14>, convolve_pass<15>, convolve_pass<16>
#endif
};
constexpr Correlate correlate_passes[] = {
    correlate_pass<1>,  correlate_pass<2>,  correlate_pass<3>,  correlate_pass<4>, correlate_pass<5>,
    correlate_pass<6>,  correlate_pass<7>,  correlate_pass<8>,  correlate_pass<9>, correlate_pass<10>,
    correlate_pass<11>, correlate_pass<12>,
#if defined(__AVX512F__)
    correlate_pass<13>, correlate_pass<14>, correlate_pass<15>, correlate_pass<16>
#endif
};

// Calls pass(taps, first) for parts of about equal size of the taps along the keys.
template <class Pass>
void for_each_pass(const Convolution& c, Pass pass) {
  const int64_t passes = (c.key_taps + max_taps - 1) / max_taps;
  for (int64_t p = 0, first = 0; p < passes; ++p) {
    const int64_t taps = (c.key_taps - first) / (passes - p);
    pass(taps, first);
    first += taps;
  }
}

}  // namespace

void convolve(const Convolution& c) {
  for_each_pass(c, [&](int64_t taps, int64_t first) { convolve_passes[taps - 1](c, first); });
}

void correlate(const Convolution& c, const float* grad, double* out) {
  for_each_pass(c, [&](int64_t taps, int64_t first) { correlate_passes[taps - 1](c, grad, out, first); });
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
