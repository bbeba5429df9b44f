#include "qkv/attention/modify/softcap.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "qkv/base/error.h"
#include "qkv/kernel/kernels.h"

namespace qkv {
namespace {

// Compared as integers: comparisons of floats may raise floating-point exceptions, which prevents vectorization.
bool is_masked(float x) { return std::bit_cast<int32_t>(x) == std::bit_cast<int32_t>(masked_score); }

class Softcap final : public Modifier {
 public:
  explicit Softcap(float cap) : cap_(cap) {}

  void forward(const Tile& tile, float* s) const override {
    if (tile.queries > 1) return bound(s, tile.keys * tile.width);
    float row[max_block_keys];  // one query: the other lanes are unused
    for (int64_t j = 0; j < tile.keys; ++j) row[j] = s[j * tile.width];
    bound(row, tile.keys);
    for (int64_t j = 0; j < tile.keys; ++j) s[j * tile.width] = row[j];
  }

  // d(cap tanh(x / cap)) / dx = 1 - tanh^2, from the modified score. 0 for a masked score, not 0 * infinity.
  void backward(const Tile& tile, const float* modified, float* ds, float* /*parameters*/) const override {
    const float inverse = 1.0f / cap_;
    for (int64_t i = 0; i < tile.keys * tile.width; ++i) {
      const float t = modified[i] * inverse, slope = 1.0f - t * t;
      ds[i] *= is_masked(modified[i]) ? 0.0f : slope;
    }
  }
  Saves saves() const override { return Saves::modified; }
  std::string name() const override { return fmt::format("softcap({})", cap_); }

 private:
  void bound(float* s, int64_t size) const {
    const auto& rows = kernel::kernels().rows;
    constexpr int64_t piece = 1024;  // stays in the L1 cache between the loops
    float t[piece];
    for (int64_t begin = 0; begin < size; begin += piece) {
      const int64_t n = std::min(piece, size - begin);
      float* x = s + begin;
      rows.scale(x, 1.0f / cap_, n, t);
      rows.tanh(t, n, t);
      rows.scale(t, cap_, n, t);
      for (int64_t i = 0; i < n; ++i) x[i] = is_masked(x[i]) ? x[i] : t[i];
    }
  }

  float cap_;
};

}  // namespace

ModifierPtr softcap(float cap) {
  require(std::isfinite(cap) && cap > 0, "softcap", "the cap must be positive and finite, got {}", cap);
  return std::make_shared<Softcap>(cap);
}

}  // namespace qkv
