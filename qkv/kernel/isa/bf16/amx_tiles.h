// The tile registers of AMX: eight tiles of 16 rows by 64 bytes, and one instruction that multiplies two tiles of
// bf16 and adds to a tile of floats.
//
// With QKV_AMX_IN_SOFTWARE the registers are memory and the instruction is a loop, to test product_amx.cc on any
// processor.
#pragma once

#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

constexpr int square = 16;  // rows of a tile, and units in a row

#if defined(QKV_AMX_IN_SOFTWARE)

struct TileRegisters {
  float tile[8][square][square];
};
QKV_INLINE TileRegisters& tile_registers() {
  static thread_local TileRegisters registers;
  return registers;
}
QKV_INLINE void configure_tiles() {}
QKV_INLINE void release_tiles() {}
template <int t>
QKV_INLINE void tile_zero() {
  for (auto& row : tile_registers().tile[t])
    for (float& x : row) x = 0.0f;
}
template <int t>
QKV_INLINE void tile_load(const float* from, int64_t stride) {
  for (int64_t r = 0; r < square; ++r) store(tile_registers().tile[t][r], load(from + r * stride));
}
template <int t>
QKV_INLINE void tile_store(float* to, int64_t stride) {
  for (int64_t r = 0; r < square; ++r) store(to + r * stride, load(tile_registers().tile[t][r]));
}
// c += a b: row r of c gains unit k of row r of a times row k of b.
template <int c, int a, int b>
QKV_INLINE void tile_multiply_add() {
  TileRegisters& x = tile_registers();
  const auto low = [](vi units) { return from_bits(units << 16); };
  const auto high = [](vi units) { return from_bits(units & static_cast<int32_t>(0xffff0000)); };
  for (int r = 0; r < square; ++r) {
    vf sum = load(x.tile[c][r]);
    for (int k = 0; k < square; ++k) {
      int32_t unit;
      __builtin_memcpy(&unit, &x.tile[a][r][k], sizeof unit);
      const vi left = broadcast_i(unit), right = bits_of(load(x.tile[b][k]));
      sum += low(left) * low(right);
      sum += high(left) * high(right);
    }
    store(x.tile[c][r], sum);
  }
}

#else

// Configures every tile as a whole square. Takes a hundred nanoseconds: once for many products.
QKV_INLINE void configure_tiles() {
  struct alignas(64) Configuration {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {square, square, square, square, square, square, square, square};
  } const config;
  asm volatile("ldtilecfg %0" : : "m"(config));  // the intrinsic of GCC 12 lets the stores to config vanish
}
QKV_INLINE void release_tiles() { _tile_release(); }
// Assembly, because intrinsics accept only a literal as the number of a register, not a template parameter.
template <int t>
QKV_INLINE void tile_zero() {
  asm volatile("tilezero %%tmm%c0" : : "i"(t));
}
template <int t>
QKV_INLINE void tile_load(const float* from, int64_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride * 4), "i"(t) : "memory");
}
template <int t>
QKV_INLINE void tile_store(float* to, int64_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride * 4), "i"(t) : "memory");
}
template <int c, int a, int b>
QKV_INLINE void tile_multiply_add() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
}

#endif

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
