#include "qkv/attention/normalize/kernel_weights.h"

#include <algorithm>
#include <cmath>

namespace qkv {
namespace {

// Kernels as functions of the score, s = -u^2 / 2; 0 for masked_score.
struct Boxcar {
  static constexpr const char* name = "boxcar()";
  static constexpr bool has_slope = false;
  static float value(float s) { return s > -0.5f ? 1.0f : 0.0f; }
  static float slope(float) { return 0.0f; }
};
struct Epanechnikov {
  static constexpr const char* name = "epanechnikov()";
  static constexpr bool has_slope = true;
  static float value(float s) { return std::max(0.0f, 1.0f + 2.0f * std::min(s, 0.0f)); }
  static float slope(float s) { return s > -0.5f && s < 0.0f ? 2.0f : 0.0f; }
};
struct Triangular {
  static constexpr const char* name = "triangular()";
  static constexpr bool has_slope = true;
  static float distance(float s) { return std::sqrt(-2.0f * std::min(s, 0.0f)); }
  static float value(float s) { return std::max(0.0f, 1.0f - distance(s)); }
  static float slope(float s) { return s > -0.5f && s < 0.0f ? 1.0f / distance(s) : 0.0f; }  // du/ds = -1 / u
};
struct Constant {
  static constexpr const char* name = "constant()";
  static constexpr bool has_slope = false;
  static float value(float s) { return s > masked_score ? 1.0f : 0.0f; }
  static float slope(float) { return 0.0f; }
};

// Kernels need no running maximum: it is 0, and nothing is rescaled.
template <class Kernel>
class KernelWeights final : public Normalizer {
 public:
  void step(const Tile& tile, float* s, kernel::RunningSoftmax running) const override {
    std::fill_n(running.maximum, tile.width, 0.0f);
    std::fill_n(running.rescale, tile.width, 1.0f);
    for (int64_t j = 0; j < tile.keys; ++j)
      for (int64_t i = 0; i < tile.width; ++i) {
        float& weight = s[j * tile.width + i];
        weight = Kernel::value(weight);
        running.sum[i] += weight;
      }
  }
  void step_row(float* s, int64_t n, kernel::RunningSoftmax running) const override {
    *running.maximum = 0.0f;
    *running.rescale = 1.0f;
    for (int64_t j = 0; j < n; ++j) *running.sum += s[j] = Kernel::value(s[j]);
  }
  void finish(const QueryBlock& block, kernel::RunningSoftmax running) const override {
    for (int64_t i = 0; i < block.width; ++i)
      running.rescale[i] = running.sum[i] > 0 ? 1.0f / running.sum[i] : 0.0f;
  }
  void weights(const Tile& tile, float* s, const float*, const float* inverse_sum, float* slope) const override {
    for (int64_t j = 0; j < tile.keys; ++j)
      for (int64_t i = 0; i < tile.width; ++i) {
        const int64_t at = j * tile.width + i;
        if (slope) slope[at] = Kernel::slope(s[at]) * inverse_sum[i];
        s[at] = Kernel::value(s[at]) * inverse_sum[i];
      }
  }
  // dw_j/ds_k = K'(s_k) / sum (1 if j = k else 0, minus w_j)
  void backward(const Tile& tile, const float*, const float* slope, const float* delta,
                float* grad) const override {
    for (int64_t j = 0; j < tile.keys; ++j)
      for (int64_t i = 0; i < tile.width; ++i) {
        float& g = grad[j * tile.width + i];
        g = Kernel::has_slope ? slope[j * tile.width + i] * (g - delta[i]) : 0.0f;
      }
  }
  bool needs_slope() const override { return Kernel::has_slope; }
  std::string name() const override { return Kernel::name; }
};

template <class Kernel>
NormalizerPtr shared() {
  static const NormalizerPtr instance = std::make_shared<KernelWeights<Kernel>>();
  return instance;
}

}  // namespace

NormalizerPtr boxcar() { return shared<Boxcar>(); }
NormalizerPtr epanechnikov() { return shared<Epanechnikov>(); }
NormalizerPtr triangular() { return shared<Triangular>(); }
NormalizerPtr constant() { return shared<Constant>(); }

}  // namespace qkv
