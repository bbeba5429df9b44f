#include "qkv/op/position.h"

#include <cmath>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"

namespace qkv {
namespace {

// Column c has the sine or the cosine of p / 10000^exponent.
struct Column {
  bool sine;
  double exponent;
};

Column column(int64_t c, int64_t width, SinusoidLayout layout) {
  const int64_t half = width / 2;
  if (layout == SinusoidLayout::interleaved)
    return {c % 2 == 0, static_cast<double>(c - c % 2) / static_cast<double>(width)};
  const int64_t k = c % half;
  const auto denominator = static_cast<double>(layout == SinusoidLayout::halves ? half : half - 1);
  return {c < half, k == 0 ? 0.0 : static_cast<double>(k) / denominator};
}

}  // namespace

Tensor sinusoidal(int64_t length, int64_t width, const SinusoidOptions& o) {
  require(length >= 0 && width >= 1 && o.first >= 0, "sinusoidal",
          "expected length >= 0, width >= 1 and first >= 0, got length {}, width {}, first {}", length, width,
          o.first);
  require(o.layout == SinusoidLayout::interleaved || width % 2 == 0, "sinusoidal",
          "the layout {} needs an even width, got {}", name_of(o.layout), width);
  Tensor table = Tensor::empty({length, width});
  float* out = table.data<float>();
  parallel_for(length, [&](int64_t p) {
    for (int64_t c = 0; c < width; ++c) {
      const Column at = column(c, width, o.layout);
      const double angle = static_cast<double>(o.first + p) / std::pow(10000.0, at.exponent);
      out[p * width + c] = static_cast<float>(at.sine ? std::sin(angle) : std::cos(angle));
    }
  });
  return table;
}

}  // namespace qkv
