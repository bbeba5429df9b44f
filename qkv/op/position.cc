#include "qkv/op/position.h"

#include <cmath>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"

namespace qkv {

Tensor sinusoidal(int64_t length, int64_t width, int64_t first) {
  require(length >= 0 && width >= 1 && first >= 0, "sinusoidal",
          "expected length >= 0, width >= 1 and first >= 0, got length {}, width {}, first {}", length, width,
          first);
  Tensor table = Tensor::empty({length, width});
  float* out = table.data<float>();
  parallel_for(length, [&](int64_t p) {
    for (int64_t c = 0; c < width; ++c) {
      const double exponent = static_cast<double>(c / 2 * 2) / static_cast<double>(width);
      const double angle = static_cast<double>(first + p) / std::pow(10000.0, exponent);
      out[p * width + c] = static_cast<float>(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  });
  return table;
}

}  // namespace qkv
