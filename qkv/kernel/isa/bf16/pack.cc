// Packing for products of bf16: VNNI layout, two rows interleaved.

#include "qkv/kernel/isa/bf16/functions.h"
#include "qkv/kernel/isa/bf16/round.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {
namespace {

QKV_INLINE vs load_shorts(const uint16_t* p) { return *reinterpret_cast<const vs_unaligned*>(p); }
QKV_INLINE vf zip(vs low, vs high) {
  return from_bits(__builtin_convertvector(low, vi) | (__builtin_convertvector(high, vi) << 16));
}

void interleave(const uint16_t* in, int64_t in_stride, int64_t rows, int64_t columns, float* out, int64_t width) {
  const vs nothing = {};
  for (int64_t r = 0; r < rows; r += 2) {
    const uint16_t *low = in + r * in_stride, *high = low + in_stride;
    const bool both = r + 1 < rows;
    float* to = out + r / 2 * width;
    int64_t c = 0;
    for (; c + lanes <= columns; c += lanes)
      store(to + c, zip(load_shorts(low + c), both ? load_shorts(high + c) : nothing));
    if (c < columns) {
      const int n = static_cast<int>(columns - c);
      store(to + c, zip(load_shorts_part(low + c, n), both ? load_shorts_part(high + c, n) : nothing));
      c += lanes;
    }
    for (; c < width; c += lanes) store(to + c, vf{});
  }
}

void interleave_rounded(const float* in, int64_t rows, int64_t width, float* out) {
  for (int64_t r = 0; r < rows; r += 2) {
    const float *low = in + r * width, *high = low + width;
    for (int64_t i = 0; i < width; i += lanes)
      store(out + r / 2 * width + i,
            side_by_side(rounded_both(load(low + i), r + 1 < rows ? load(high + i) : vf{})));
  }
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
