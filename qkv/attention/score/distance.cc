#include "qkv/attention/score/distance.h"

#include <cmath>

#include "qkv/attention/score/map_rows.h"
#include "qkv/base/error.h"
#include "qkv/kernel/kernels.h"
#include "qkv/op/arithmetic.h"

namespace qkv {
namespace {

using namespace internal;

class Distance : public Score {
 public:
  void forward(const Tile& tile, const ScoreOperands& x, float* s) const final {
    kernel::kernels().attention.distance(x.q.transposed, x.q.stride, tile.width, x.k.rows, x.k.row_stride,
                                         tile.keys, x.k.width, s);
  }
  void backward(const Tile& tile, const ScoreOperands& x, const WeightOperand& ds,
                const ScoreGradients& g) const final {
    kernel::kernels().attention.distance_backward(x.q.transposed, x.q.stride, tile.width, x.k.rows, x.k.row_stride,
                                                  tile.keys, x.k.width, ds.tile, g.dq_transposed, g.dk,
                                                  x.q.row_width);
  }
  double pair_flops(int64_t D) const final { return 3.0 * static_cast<double>(D); }
  std::string name() const override { return "distance()"; }
};

// distance() of q / sigma and k / sigma.
class Gaussian final : public Distance {
 public:
  explicit Gaussian(Variable sigma) : sigma_(std::move(sigma)) {}

  Prepared prepare(const Variable& q, const Variable& k) const override {
    const auto divided = [&](const Variable& x) { return divide(x, sigma_); };
    return {map_rows(q, divided), map_rows(k, divided)};
  }
  std::string name() const override { return fmt::format("gaussian({})", sigma_.value().at<float>({0})); }

 private:
  Variable sigma_;
};

}  // namespace

ScorePtr distance() {
  static const ScorePtr instance = std::make_shared<Distance>();
  return instance;
}

ScorePtr gaussian(const Variable& sigma) {
  require(sigma.defined() && sigma.value().dtype() == DType::f32 && sigma.shape() == Shape{1}, "gaussian",
          "sigma must be f32 of shape (1), got {}", sigma.defined() ? to_string(sigma.shape()) : "nothing");
  const float width = sigma.value().at<float>({0});
  require(width > 0 && std::isfinite(width), "gaussian", "sigma must be positive and finite, got {}", width);
  return std::make_shared<Gaussian>(sigma);
}

ScorePtr gaussian(float sigma) { return gaussian(Variable(Tensor::full({1}, sigma))); }

}  // namespace qkv
