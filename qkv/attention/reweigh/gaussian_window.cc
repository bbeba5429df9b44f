#include "qkv/attention/reweigh/gaussian_window.h"

#include <algorithm>
#include <cmath>

#include "qkv/base/error.h"
#include "qkv/base/scratch.h"
#include "qkv/kernel/kernels.h"

namespace qkv {
namespace {

class GaussianWindow final : public Reweigher {
 public:
  GaussianWindow(Variable p, double sigma)
      : p_(std::move(p)), positions_(p_.value().contiguous_copy()), sigma_(sigma) {}

  void check(const AttentionShape& n) const override {
    require(p_.shape() == Shape{n.B, n.H, n.T}, "gaussian_window", "p is {} for B {}, H {} and T {}",
            describe("BHT", p_.shape()), n.B, n.H, n.T);
  }
  void multiply(const Tile& tile, float* x) const override {
    Scratch scratch;
    float *factors = scratch.floats(tile.keys * tile.width), *p = scratch.floats(tile.width),
          *ones = scratch.floats(tile.width), *zeros = scratch.floats(tile.width);
    std::fill_n(p, tile.width, 0.0f);
    std::copy_n(positions_.data<float>() + first_query(tile), tile.queries, p);
    std::fill_n(ones, tile.width, 1.0f);
    std::fill_n(zeros, tile.width, 0.0f);
    const auto curvature = static_cast<float>(-0.5 / (sigma_ * sigma_));
    for (int64_t j = 0; j < tile.keys; ++j)
      for (int64_t i = 0; i < tile.width; ++i) {
        const float distance = static_cast<float>(tile.key + j) - p[i];
        factors[j * tile.width + i] = distance * distance * curvature;
      }
    kernel::kernels().attention.weights(factors, tile.keys, tile.width, zeros,
                                        ones);  // exp; exactly 0 for large distances
    kernel::kernels().rows.multiply(x, factors, tile.keys * tile.width, x);
  }
  // d log f_ij / dp_i = (j - p_i) / sigma^2
  void backward(const Tile& tile, const float* weights, const float* grad, float* parameters) const override {
    if (!p_.requires_grad()) return;
    const float* p = positions_.data<float>() + first_query(tile);
    double sums[max_block_queries] = {};
    for (int64_t j = 0; j < tile.keys; ++j)
      for (int64_t i = 0; i < tile.queries; ++i) {
        const int64_t at = j * tile.width + i;
        const float distance = static_cast<float>(tile.key + j) - p[i];
        sums[i] += static_cast<double>(weights[at] * grad[at]) * static_cast<double>(distance);
      }
    for (int64_t i = 0; i < tile.queries; ++i)
      parameters[first_query(tile) + i] += static_cast<float>(sums[i] / (sigma_ * sigma_));
  }
  std::vector<Variable> parameters() const override {
    return p_.requires_grad() ? std::vector{p_} : std::vector<Variable>{};
  }
  std::string name() const override { return fmt::format("gaussian_window(p, {})", sigma_); }

 private:
  static int64_t first_query(const Tile& tile) {
    return (tile.batch * tile.shape->H + tile.head) * tile.shape->T + tile.query;
  }

  Variable p_;
  Tensor positions_;
  double sigma_;
};

}  // namespace

ReweigherPtr gaussian_window(const Variable& p, double sigma) {
  require(p.defined() && p.value().dtype() == DType::f32 && p.value().rank() == 3, "gaussian_window",
          "p must be f32 of shape (B, H, T), got {}", p.defined() ? to_string(p.shape()) : "nothing");
  require(sigma > 0 && std::isfinite(sigma), "gaussian_window", "sigma must be positive and finite, got {}", sigma);
  return std::make_shared<GaussianWindow>(p, sigma);
}

}  // namespace qkv
