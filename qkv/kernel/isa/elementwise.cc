// Sums and products of rows, column sums, embeddings, Adam.
#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/rows.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

void add(const float* a, const float* b, int64_t n, float* y) {
  each(n, [&](auto at, int64_t i) { at.put(y + i, at(a + i) + at(b + i)); });
}
void multiply(const float* a, const float* b, int64_t n, float* y) {
  each(n, [&](auto at, int64_t i) { at.put(y + i, at(a + i) * at(b + i)); });
}
void multiply_add(const float* a, const float* b, int64_t n, float* y) {
  each(n, [&](auto at, int64_t i) { at.put(y + i, at(y + i) + at(a + i) * at(b + i)); });
}
void scale(const float* x, float s, int64_t n, float* y) {
  each(n, [&](auto at, int64_t i) { at.put(y + i, at(x + i) * s); });
}
void add_scaled(const float* x, float s, int64_t n, float* y) {
  each(n, [&](auto at, int64_t i) { at.put(y + i, at(y + i) + at(x + i) * s); });
}

void embed(const float* table_row, float scale, const float* position_row, int64_t n, float* y) {
  each(n, [&](auto at, int64_t i) {
    const vf position = position_row ? at(position_row + i) : vf{};
    at.put(y + i, at(table_row + i) * scale + position);
  });
}

// Four vectors of columns at a time, so that a row is read by whole cache lines; even and odd rows have own sums.
void add_rows(float* sum, const float* rows, int64_t count, int64_t row_stride, int64_t n) {
  constexpr int wide = 4;
  int64_t i = 0;
  for (; i + wide * lanes <= n; i += wide * lanes) {
    vf even[wide] = {}, odd[wide] = {};
    for (int64_t r = 0; r < count; r += 2)
      for (int k = 0; k < wide; ++k) {
        const float* at = rows + r * row_stride + i + k * lanes;
        even[k] += load(at);
        if (r + 1 < count) odd[k] += load(at + row_stride);
      }
    for (int k = 0; k < wide; ++k) {
      float* at = sum + i + k * lanes;
      store(at, load(at) + (even[k] + odd[k]));
    }
  }
  each(n - i, [&](auto at, int64_t j) {
    vf even = {}, odd = {};
    for (int64_t r = 0; r < count; r += 2) {
      const float* from = rows + r * row_stride + i + j;
      even += at(from);
      if (r + 1 < count) odd += at(from + row_stride);
    }
    at.put(sum + i + j, at(sum + i + j) + (even + odd));
  });
}

void adam(float* p, float* m, float* v, const float* g, int64_t n, const AdamStep& step) {
  const float beta1 = static_cast<float>(step.beta1), rest1 = static_cast<float>(1.0 - step.beta1);
  const float beta2 = static_cast<float>(step.beta2), rest2 = static_cast<float>(1.0 - step.beta2);
  const float rate = static_cast<float>(step.lr * step.correction1), eps = static_cast<float>(step.eps);
  const float decay = static_cast<float>(step.lr * step.weight_decay);
  const float correction2 = static_cast<float>(step.correction2), grad_scale = static_cast<float>(step.grad_scale);
  each(n, [&](auto at, int64_t i) {
    const vf grad = at(g + i) * grad_scale, before = at(p + i);
    const vf first = fused(at(m + i), broadcast(beta1), grad * rest1);
    const vf second = fused(at(v + i), broadcast(beta2), grad * grad * rest2);
    at.put(m + i, first);
    at.put(v + i, second);
    // If both moments and eps are 0, p does not change.
    const vf below = max(broadcast(1e-38f), sqrt(second * correction2) + eps);
    at.put(p + i, (before - before * decay) - rate * first / below);
  });
}

namespace {

// The upper half of the bits, after a hash of them and of the key was added to the lower half.
template <class Bits>
QKV_INLINE Bits rounded_up_at_random(Bits bits, uint32_t key) {
  Bits hash = (bits ^ key) * 0x9E3779B1u;
  hash = (hash ^ (hash >> 15)) * 0x85EBCA77u;
  hash = (hash ^ (hash >> 13)) * 0xC2B2AE3Du;
  return (bits + (hash >> 16)) >> 16;
}

template <class Bits>
QKV_INLINE Bits rounded_to_nearest(Bits bits) {
  const Bits even = (bits + (0x7fffu + ((bits >> 16) & 1u))) >> 16, quiet_nan = (bits >> 16) | 0x40u;
  return (bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : even;
}

// The bits of numbers, shortened to those of bf16 by `shorten`.
template <class Shorten>
QKV_INLINE void each_shortened(const float* x, int64_t n, uint16_t* to, Shorten shorten) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    *reinterpret_cast<vs_unaligned*>(to + i) =
        __builtin_convertvector(shorten(reinterpret_cast<vu>(load(x + i))), vs);
  for (; i < n; ++i) to[i] = static_cast<uint16_t>(shorten(__builtin_bit_cast(uint32_t, x[i])));
}

}  // namespace

void round_to_nearest(const float* x, int64_t n, uint16_t* to) {
  each_shortened(x, n, to, [](auto bits) { return rounded_to_nearest(bits); });
}
void round_stochastically(const float* x, int64_t n, uint32_t key, uint16_t* to) {
  each_shortened(x, n, to, [key](auto bits) { return rounded_up_at_random(bits, key); });
}

void widen(const uint16_t* x, int64_t n, float* to) {
  each(n, [&](auto at, int64_t i) { at.put(to + i, at(x + i)); });
}

template <int vectors>
QKV_INLINE bool all_at_most(const float* x, vf threshold) {
  vi at_most = load(x) <= threshold;  // not for NaN
#pragma GCC unroll 8
  for (int k = 1; k < vectors; ++k) at_most &= load(x + k * lanes) <= threshold;
  return across_lanes(at_most, [](vi a, vi b) { return a & b; }) != 0;
}

int64_t first_above(const float* x, int64_t n, float threshold) {
  constexpr int vectors = 8;  // of which few have one
  const vf all = broadcast(threshold);
  int64_t i = 0;
  while (i + vectors * lanes <= n && all_at_most<vectors>(x + i, all)) i += vectors * lanes;
  while (i + lanes <= n && all_at_most<1>(x + i, all)) i += lanes;
  while (i < n && x[i] <= threshold) ++i;
  return i;
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
