// Packing for products of bf16: VNNI layout, two rows interleaved.

#include "qkv/kernel/isa/bf16/functions.h"
#include "qkv/kernel/isa/bf16/round.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {
namespace {

constexpr int64_t rows_ahead = 8;  // that are fetched: rows of a large matrix are far apart

// Two rows make a row of units: the first is the lower half of each.
QKV_INLINE vf zip(vs low, vs high) {
  return from_bits(__builtin_convertvector(low, vi) | (__builtin_convertvector(high, vi) << 16));
}
QKV_INLINE vf zip(vf low, vf high) { return side_by_side(rounded_both(low, high)); }

QKV_INLINE vf some(const float* p, int n) { return n == lanes ? load(p) : load_part(p, n); }
QKV_INLINE vs some(const uint16_t* p, int n) {
  return n == lanes ? *reinterpret_cast<const vs_unaligned*>(p) : load_shorts_part(p, n);
}

template <class Element>
QKV_INLINE void interleave_rows(const Element* in, int64_t stride, int64_t rows, int64_t columns, float* out,
                                int64_t width) {
  const decltype(some(in, lanes)) nothing = {};
  for (int64_t r = 0; r < rows; r += 2) {
    const Element *const low = in + r * stride, *const high = low + stride;
    const bool both = r + 1 < rows, fetches = r + rows_ahead + 1 < rows;
    float* const to = out + r / 2 * width;
    int64_t c = 0;
    for (; c + lanes <= columns; c += lanes) {
      if (fetches)
        __builtin_prefetch(low + rows_ahead * stride + c), __builtin_prefetch(high + rows_ahead * stride + c);
      store(to + c, zip(some(low + c, lanes), both ? some(high + c, lanes) : nothing));
    }
    if (c < columns) {
      const int n = static_cast<int>(columns - c);
      store(to + c, zip(some(low + c, n), both ? some(high + c, n) : nothing));
      c += lanes;
    }
    for (; c < width; c += lanes) store(to + c, vf{});
  }
}

void interleave(const uint16_t* in, int64_t in_stride, int64_t rows, int64_t columns, float* out, int64_t width) {
  interleave_rows(in, in_stride, rows, columns, out, width);
}
void interleave_rounded(const float* in, int64_t in_stride, int64_t rows, int64_t columns, float* out,
                        int64_t width) {
  interleave_rows(in, in_stride, rows, columns, out, width);
}

void round(const float* in, int64_t n, uint16_t* out) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store_rounded(out + i, load(in + i));
  if (i < n) {
    const int left = static_cast<int>(n - i);
    store_shorts_part(out + i, rounded(load_part(in + i, left)), left);
  }
}

}  // namespace

const Bf16Kernels& bf16_kernels() {
  static const Bf16Kernels all = {.begin = begin_products,
                                  .end = end_products,
                                  .products = bf16_products(),
                                  .columns_as_rows = columns_as_rows,
                                  .interleave = interleave,
                                  .interleave_rounded = interleave_rounded,
                                  .round = round,
                                  .softmax_step = softmax_step_to_bf16,
                                  .weights = weights_to_bf16,
                                  .softmax_backward = softmax_backward_to_bf16};
  return all;
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
