// The number formats in which a weight matrix is held packed (matmul.h).
//
// | format | a number                                  | a product with it                                        |
// | f32    | a float                                   | floats, one chain of multiply-adds                       |
// | bf16   | the upper half of a float, 2 bytes        | the same chain: a bf16 is widened to a float in registers |
//
// A new format needs a row here, a case of WeightFormat with its name and size, and kernels (isa/matmul.cc).
#pragma once

#include <array>
#include <cstdint>

#include "qkv/base/names.h"

namespace qkv {

enum class WeightFormat : uint8_t { f32, bf16 };
constexpr auto names_of(WeightFormat) {
  return std::array{Named{WeightFormat::f32, "f32"}, Named{WeightFormat::bf16, "bf16"}};
}

constexpr int64_t bytes_of(WeightFormat format, int64_t numbers) {
  return numbers * (format == WeightFormat::bf16 ? 2 : 4);
}

}  // namespace qkv
