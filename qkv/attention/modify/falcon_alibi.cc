#include "qkv/attention/modify/falcon_alibi.h"

#include <cmath>

#include "qkv/base/error.h"
#include "qkv/tensor/dtype.h"

namespace qkv {
namespace {

float rounded(float x) { return static_cast<float>(bfloat16(x)); }

class FalconAlibi final : public Modifier {
 public:
  FalconAlibi(std::vector<float> slopes, float scale) : slopes_(std::move(slopes)), scale_(scale) {
    for (float& slope : slopes_) slope = rounded(slope);
  }

  void check(const AttentionShape& shape) const override {
    require(static_cast<int64_t>(slopes_.size()) == shape.H, "falcon_alibi", "{} slopes for H {} query heads",
            slopes_.size(), shape.H);
  }
  void forward(const Tile& tile, float* s) const override {
    const float slope = slopes_[static_cast<size_t>(tile.head)];
    for (int64_t j = 0; j < tile.keys; ++j) {
      const float bias = rounded(slope * rounded(static_cast<float>(tile.key + j))) * scale_;
      for (int64_t i = 0; i < tile.queries; ++i) s[j * tile.width + i] += bias;
    }
  }
  void backward(const Tile&, const float* /*saved*/, float* /*ds*/, float* /*parameters*/) const override {}
  std::string name() const override { return fmt::format("falcon_alibi(slopes, {})", scale_); }

 private:
  std::vector<float> slopes_;
  float scale_;
};

}  // namespace

ModifierPtr falcon_alibi(std::vector<float> slopes, float scale) {
  require(std::isfinite(scale), "falcon_alibi", "the scale must be finite, got {}", scale);
  return std::make_shared<FalconAlibi>(std::move(slopes), scale);
}

}  // namespace qkv
