// The tile registers of AMX: eight tiles of 16 rows by 64 bytes, and the instructions that multiply two tiles and add to a
// third: of bf16 to floats, of bytes to integers.
//
// With QKV_AMX_IN_SOFTWARE the registers are memory and the instructions are loops, to test their users on any processor.
#pragma once

#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

constexpr int square = 16;  // rows of a tile, and units in a row

#if defined(QKV_AMX_IN_SOFTWARE)

struct TileRegisters {
  float tile[8][square][square];
};
QKV_INLINE TileRegisters& tile_registers() {
  static thread_local TileRegisters tiles;
  return tiles;
}
QKV_INLINE void configure_tiles() {}
QKV_INLINE void release_tiles() {}
template <int t>
QKV_INLINE void tile_zero() {
  for (auto& row : tile_registers().tile[t])
    for (float& x : row) x = 0.0f;
}
// Strides are in bytes.
template <int t>
QKV_INLINE void tile_load_bytes(const void* from, int64_t stride) {
  for (int64_t r = 0; r < square; ++r)
    __builtin_memcpy(tile_registers().tile[t][r], static_cast<const char*>(from) + r * stride, 4 * square);
}
template <int t>
QKV_INLINE void tile_store_bytes(void* to, int64_t stride) {
  for (int64_t r = 0; r < square; ++r)
    __builtin_memcpy(static_cast<char*>(to) + r * stride, tile_registers().tile[t][r], 4 * square);
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
// The same of integers: a unit is four signed bytes of a, and four unsigned ones of b.
template <int c, int a, int b>
QKV_INLINE void tile_multiply_add_bytes() {
  TileRegisters& x = tile_registers();
  int32_t sum[square][square];
  int8_t left[square][4 * square];
  uint8_t right[square][square][4];
  __builtin_memcpy(sum, x.tile[c], sizeof sum);
  __builtin_memcpy(left, x.tile[a], sizeof left);
  __builtin_memcpy(right, x.tile[b], sizeof right);
  for (int r = 0; r < square; ++r)
    for (int k = 0; k < 4 * square; ++k)
      for (int n = 0; n < square; ++n) sum[r][n] += left[r][k] * right[k / 4][n][k % 4];
  __builtin_memcpy(x.tile[c], sum, sizeof sum);
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
// Strides are in bytes.
template <int t>
QKV_INLINE void tile_load_bytes(const void* from, int64_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(t) : "memory");
}
template <int t>
QKV_INLINE void tile_store_bytes(void* to, int64_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(t) : "memory");
}
template <int c, int a, int b>
QKV_INLINE void tile_multiply_add() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
}
template <int c, int a, int b>
QKV_INLINE void tile_multiply_add_bytes() {
  asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
}

#endif

template <int t>
QKV_INLINE void tile_load(const float* from, int64_t stride) {
  tile_load_bytes<t>(from, stride * 4);
}
template <int t>
QKV_INLINE void tile_store(float* to, int64_t stride) {
  tile_store_bytes<t>(to, stride * 4);
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
