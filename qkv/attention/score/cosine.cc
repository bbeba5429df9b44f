#include "qkv/attention/score/cosine.h"

#include <cmath>

#include "qkv/attention/score/dot_product_score.h"
#include "qkv/attention/score/map_rows.h"
#include "qkv/base/error.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/norm.h"

namespace qkv {
namespace {

using namespace internal;

class Cosine final : public DotProductScore {
 public:
  Cosine(float scale, Variable gain) : scale_(scale), gain_(std::move(gain)) {}

  Prepared prepare(const Variable& q, const Variable& k) const override {
    const auto unit_times_gain = [&](const Variable& x) { return scale(unit_norm(x), gain_); };
    return {gain_.defined() ? map_rows(q, unit_times_gain) : map_rows(q, unit_norm), map_rows(k, unit_norm)};
  }
  std::optional<float> dot_scale(int64_t) const override { return scale_; }
  std::string name() const override { return fmt::format("cosine({})", scale_); }

 private:
  float scale_;
  Variable gain_;
};

}  // namespace

ScorePtr cosine(float scale, const Variable& gain) {
  require(std::isfinite(scale), "cosine", "the scale must be a finite number, got {}", scale);
  require(!gain.defined() || gain.shape() == Shape{1}, "cosine",
          "the gain must be one number, of shape (1), got {}", gain.defined() ? gain.shape() : Shape{});
  return std::make_shared<Cosine>(scale, gain);
}

}  // namespace qkv
