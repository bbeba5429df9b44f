#include "qkv/attention/score/dot.h"

#include <cmath>
#include <optional>

#include "qkv/base/error.h"

namespace qkv {
namespace {

class Dot final : public Score {
 public:
  explicit Dot(std::optional<float> scale) : scale_(scale) {}

  std::optional<float> dot_scale(int64_t D) const override {
    return scale_ ? *scale_ : 1.0f / std::sqrt(static_cast<float>(D));
  }
  void forward(const Tile& tile, const ScoreOperands& x, float* s) const override {
    multiply_rows(*x.products, tile, x.k, x.q, *dot_scale(x.k.width), s);
  }
  void backward(const Tile& tile, const ScoreOperands& x, const WeightOperand& ds,
                const ScoreGradients& g) const override {
    add_rows_product(*x.products, tile, ds, x.q, g.dk);
    x.products->add(columns_product(tile, x.k, ds, g.dq_transposed, x.q.stride));
  }
  std::string name() const override { return scale_ ? fmt::format("dot({})", *scale_) : "scaled_dot()"; }

 private:
  std::optional<float> scale_;
};

}  // namespace

ScorePtr scaled_dot() {
  static const ScorePtr instance = std::make_shared<Dot>(std::nullopt);
  return instance;
}

ScorePtr dot(float scale) {
  require(std::isfinite(scale), "dot", "the scale must be a finite number, got {}", scale);
  return std::make_shared<Dot>(scale);
}

}  // namespace qkv
