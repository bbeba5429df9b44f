#include "qkv/attention/score/dot.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "qkv/attention/score/dot_product_score.h"
#include "qkv/base/error.h"

namespace qkv {
namespace {

class Dot final : public internal::DotProductScore {
 public:
  explicit Dot(std::optional<float> scale) : scale_(scale) {}

  std::optional<float> dot_scale(int64_t D) const override {
    return scale_ ? *scale_ : 1.0f / std::sqrt(static_cast<float>(std::max<int64_t>(D, 1)));
  }
  bool reads_stored_keys() const override { return true; }
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
