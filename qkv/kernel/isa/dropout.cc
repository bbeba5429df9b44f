// Dropout by Philox4x32-10 (Salmon et al., 2011), for lanes / 2 calls at once: every 32-bit number of a call is in
// the low half of a 64-bit lane, where the widening product reads it. The high halves are ignored until the end.
#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/rows.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

namespace {

constexpr int calls = lanes / 2;  // Philox calls side by side
constexpr int block = 8 * calls;  // 16-bit numbers that they generate
typedef uint64_t vw __attribute__((vector_size(lanes * 4)));
typedef uint64_t vw_unaligned __attribute__((vector_size(lanes * 4), aligned(2), may_alias));
typedef uint16_t vs_unaligned __attribute__((vector_size(lanes * 2), aligned(2), may_alias));

#if defined(__AVX512F__)
constexpr vw call_numbers = {0, 1, 2, 3, 4, 5, 6, 7};
QKV_INLINE vw product(vw a, vw b) {  // of the low halves
  return reinterpret_cast<vw>(
      _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
QKV_INLINE vw zip_low(vw a, vw b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
QKV_INLINE vw zip_high(vw a, vw b) { return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15); }
#elif defined(__AVX2__)
constexpr vw call_numbers = {0, 1, 2, 3};
QKV_INLINE vw product(vw a, vw b) {
  return reinterpret_cast<vw>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}
QKV_INLINE vw zip_low(vw a, vw b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }
QKV_INLINE vw zip_high(vw a, vw b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }
#else
constexpr vw call_numbers = {0, 1};
QKV_INLINE vw product(vw a, vw b) {
#if defined(__x86_64__)
  return reinterpret_cast<vw>(_mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}
QKV_INLINE vw zip_low(vw a, vw b) { return __builtin_shufflevector(a, b, 0, 2); }
QKV_INLINE vw zip_high(vw a, vw b) { return __builtin_shufflevector(a, b, 1, 3); }
#endif

// The numbers of calls position, position + 1, ..., in the order of their elements.
QKV_INLINE void draw(const DropoutKey& key, uint64_t position, uint16_t* numbers) {
  const vw nothing = {};
  const vw at = call_numbers + position, m0 = nothing + 0xD2511F53u, m1 = nothing + 0xCD9E8D57u;
  vw c0 = at, c1 = at >> 32, c2 = nothing + key.stream, c3 = nothing + (key.stream >> 32);
  uint32_t k0 = static_cast<uint32_t>(key.seed), k1 = static_cast<uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const vw p0 = product(c0, m0), p1 = product(c2, m1);
    c0 = (p1 >> 32) ^ c1 ^ (nothing + k0);
    c2 = (p0 >> 32) ^ c3 ^ (nothing + k1);
    c1 = p1;
    c3 = p0;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  const vw a = (c0 & 0xffffffffu) | (c1 << 32), b = (c2 & 0xffffffffu) | (c3 << 32);
  *reinterpret_cast<vw_unaligned*>(numbers) = zip_low(a, b);
  *reinterpret_cast<vw_unaligned*>(numbers + block / 2) = zip_high(a, b);
}

// Calls body(at, i, kept) for every vector of the row; kept is all ones for the elements that are kept.
template <class F>
QKV_INLINE void each_kept(int64_t n, const DropoutKey& key, int64_t first_index, F body) {
  uint16_t numbers[block + lanes] = {};  // the last vector of a row may read beyond the block
  const int32_t threshold = static_cast<int32_t>(key.threshold);
  for (int64_t i = 0; i < n;) {
    const int64_t index = first_index + i;
    int64_t k = index % block;
    draw(key, static_cast<uint64_t>(index / block) * calls, numbers);
    const auto kept = [&](int64_t from) {
      return __builtin_convertvector(*reinterpret_cast<const vs_unaligned*>(numbers + from), vi) < threshold;
    };
    if (k == 0 && n - i >= block) {
      for (; k < block; k += lanes, i += lanes) body(Whole{}, i, kept(k));
    } else {
      for (; k < block && i < n;) {
        const int64_t left = n - i < block - k ? n - i : block - k;
        const int count = static_cast<int>(left < lanes ? left : lanes);
        if (count == lanes)
          body(Whole{}, i, kept(k));
        else
          body(Part{count}, i, kept(k));
        k += count, i += count;
      }
    }
  }
}

}  // namespace

void dropout(const float* x, int64_t n, const DropoutKey& key, int64_t first_index, float* y) {
  const float s = key.scale;
  each_kept(n, key, first_index, [&](auto at, int64_t i, vi kept) { at.put(y + i, kept ? at(x + i) * s : vf{}); });
}

void dropout_add(const float* x, const float* residual, int64_t n, const DropoutKey& key, int64_t first_index,
                 float* y) {
  const float s = key.scale;
  each_kept(n, key, first_index, [&](auto at, int64_t i, vi kept) {
    const vf r = at(residual + i);
    at.put(y + i, kept ? r + at(x + i) * s : r);
  });
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
