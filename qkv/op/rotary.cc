#include "qkv/op/rotary.h"

#include <algorithm>
#include <cmath>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/op/rotary_scaling.h"
#include "qkv/tensor/layout.h"

namespace qkv {
namespace {

// Checked: d/2 frequencies.
std::vector<double> frequencies_of(const Variable& q, const RotaryOptions& options) {
  const int64_t D = q.dim(3), width = options.width == 0 ? D : options.width;
  require(width >= 2 && width <= D && width % 2 == 0, "rotary",
          "the width must be even and at most D {}, or 0 for D, got {}", D, options.width);
  require(options.base > 0 && std::isfinite(options.base), "rotary", "the base must be a positive number, got {}",
          options.base);
  require(std::isfinite(options.multiplier), "rotary", "the multiplier must be finite, got {}", options.multiplier);
  if (options.frequencies.empty()) return rotary_frequencies(options.base, width).frequencies;
  require(std::ssize(options.frequencies) == width / 2, "rotary",
          "expected {} frequencies for the width {}, got {}", width / 2, width, options.frequencies.size());
  for (const double frequency : options.frequencies)
    require(std::isfinite(frequency), "rotary", "frequencies must be finite, got {}", frequency);
  return options.frequencies;
}

// (T, 2, d/2): the cosines, then the sines, of each position, times the multiplier.
Tensor angles_of(int64_t T, const std::vector<double>& frequencies, const RotaryOptions& options) {
  const int64_t half = std::ssize(frequencies);
  Tensor table = Tensor::empty({T, 2, half});
  float* out = table.data<float>();
  for (int64_t c = 0; c < half; ++c)
    for (int64_t i = 0; i < T; ++i) {
      const double angle = static_cast<double>(i + options.offset) * frequencies[static_cast<size_t>(c)];
      out[2 * i * half + c] = static_cast<float>(options.multiplier * std::cos(angle));
      out[(2 * i + 1) * half + c] = static_cast<float>(options.multiplier * std::sin(angle));
    }
  return table;
}

// Rotates by the angles (direction 1) or back (direction -1): the gradient of a rotation is its transpose.
Tensor rotated(const Tensor& x, const Tensor& table, bool interleaved, float direction) {
  const int64_t H = x.dim(1), T = x.dim(2), D = x.dim(3), half = table.dim(2);
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
      std::copy(from + 2 * half, from + D, to + 2 * half);
    }
  });
  return y;
}

Tensor with_contiguous_rows(const Tensor& x) { return x.stride(3) == 1 ? x : x.contiguous_copy(); }

}  // namespace

Variable rotary(const Variable& q, const RotaryOptions& options) {
  require(q.value().rank() == 4 && q.dim(3) > 0 && (options.width != 0 || q.dim(3) % 2 == 0), "rotary",
          "q must be (B,H,T,D) with an even D, got {}", describe("BHTD", q.shape()));
  const OpScope scope("rotary", OpWork::moves(q.value(), 2));
  const Tensor table = angles_of(q.dim(2), frequencies_of(q, options), options);
  const bool interleaved = options.interleaved;
  return record("rotary", {q}, rotated(with_contiguous_rows(q.value()), table, interleaved, 1.0f),
                [table, interleaved](const Tensor& dy, const std::vector<bool>&) {
                  count_work(OpWork::moves(dy, 2));
                  return std::vector<Tensor>{rotated(with_contiguous_rows(dy), table, interleaved, -1.0f)};
                });
}

}  // namespace qkv
