#include "qkv/attention/score/cosine.h"

#include <cmath>

#include "qkv/attention/score/dot_product.h"
#include "qkv/attention/score/map_rows.h"
#include "qkv/base/error.h"
#include "qkv/op/norm.h"

namespace qkv {
namespace {

class Cosine final : public DotProduct {
 public:
  explicit Cosine(float scale) : scale_(scale) {}

  Prepared prepare(const Variable& q, const Variable& k) const override {
    return {map_rows(q, unit_norm), map_rows(k, unit_norm)};
  }
  std::optional<float> dot_scale(int64_t) const override { return scale_; }
  std::string name() const override { return fmt::format("cosine({})", scale_); }

 private:
  float scale_;
};

}  // namespace

ScorePtr cosine(float scale) {
  require(std::isfinite(scale), "cosine", "the scale must be a finite number, got {}", scale);
  return std::make_shared<Cosine>(scale);
}

}  // namespace qkv
