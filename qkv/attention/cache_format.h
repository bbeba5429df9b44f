// The number formats of a KV cache:
//
// | f32  | as keys and values are computed                                                                    |
// | bf16 | rounded to nearest: half of the memory and of the time to read it                                  |
// | int8 | -127 to 127 times a float, the largest magnitude of the row / 127: a quarter                       |
//
// An int8 row of D numbers is D bytes and then the scale. Errors are those of rounding: at most 2^-9 of a number in bf16,
// 1/254 of the largest number of its row in int8.
#pragma once

#include <array>
#include <cstring>

#include "qkv/base/names.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

enum class CacheFormat : uint8_t { f32, bf16, int8 };
constexpr auto names_of(CacheFormat) {
  return std::array{Named{CacheFormat::f32, "f32"}, Named{CacheFormat::bf16, "bf16"},
                    Named{CacheFormat::int8, "int8"}};
}

namespace internal {

// x (B,G,T,D), f32 or bf16, as u8 (B,G,T,D + 4). A row with a number that is not finite has the scale NaN.
Tensor int8_rows(const Tensor& x);
// The others take the numbers of such rows without their scales: u8 (B,G,T,D), a view.
inline float scale_of_int8_row(const int8_t* row, int64_t D) {
  float scale = 0;
  std::memcpy(&scale, row + D, sizeof(scale));
  return scale;
}
Tensor numbers_of_int8_rows(const Tensor& rows);  // f32

}  // namespace internal

}  // namespace qkv
