#include "qkv/op/rotary.h"

#include <cmath>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/tensor/layout.h"

namespace qkv {
namespace {

// (T, 2, D/2): the cosines, then the sines, of each position.
Tensor angles_of(int64_t T, int64_t D, const RotaryOptions& options) {
  const int64_t half = D / 2;
  Tensor table = Tensor::empty({T, 2, half});
  float* out = table.data<float>();
  for (int64_t c = 0; c < half; ++c) {
    const double frequency = std::pow(options.base, -2.0 * static_cast<double>(c) / static_cast<double>(D));
    for (int64_t i = 0; i < T; ++i) {
      const double angle = static_cast<double>(i + options.offset) * frequency;
      out[2 * i * half + c] = static_cast<float>(std::cos(angle));
      out[(2 * i + 1) * half + c] = static_cast<float>(std::sin(angle));
    }
  }
  return table;
}

// Rotates by the angles (direction 1) or back (direction -1): the gradient of a rotation is its transpose.
Tensor rotated(const Tensor& x, const Tensor& table, bool interleaved, float direction) {
  const int64_t H = x.dim(1), T = x.dim(2), half = x.dim(3) / 2;
  const int64_t pair = interleaved ? 2 : 1, other = interleaved ? 1 : half;
  Tensor y = empty_in_order_of(x, x.shape());
  const float *in = x.data<float>(), *angles = table.data<float>();
  float* out = y.data<float>();
  parallel_for(x.dim(0) * H, [&](int64_t n) {
    for (int64_t i = 0; i < T; ++i) {
      const float* from = in + n / H * x.stride(0) + n % H * x.stride(1) + i * x.stride(2);
      float* to = out + n / H * y.stride(0) + n % H * y.stride(1) + i * y.stride(2);
      const float *cosine = angles + 2 * i * half, *sine = cosine + half;
      for (int64_t c = 0; c < half; ++c) {
        const float a = from[c * pair], b = from[c * pair + other], s = direction * sine[c];
        to[c * pair] = a * cosine[c] - b * s;
        to[c * pair + other] = b * cosine[c] + a * s;
      }
    }
  });
  return y;
}

Tensor with_contiguous_rows(const Tensor& x) { return x.stride(3) == 1 ? x : x.contiguous_copy(); }

}  // namespace

Variable rotary(const Variable& q, const RotaryOptions& options) {
  require(q.value().rank() == 4 && q.dim(3) > 0 && q.dim(3) % 2 == 0, "rotary",
          "q must be (B,H,T,D) with an even D, got {}", describe("BHTD", q.shape()));
  require(options.base > 0 && std::isfinite(options.base), "rotary", "the base must be a positive number, got {}",
          options.base);
  const Tensor table = angles_of(q.dim(2), q.dim(3), options);
  const bool interleaved = options.interleaved;
  return record("rotary", {q}, rotated(with_contiguous_rows(q.value()), table, interleaved, 1.0f),
                [table, interleaved](const Tensor& dy, const std::vector<bool>&) {
                  return std::vector<Tensor>{rotated(with_contiguous_rows(dy), table, interleaved, -1.0f)};
                });
}

}  // namespace qkv
