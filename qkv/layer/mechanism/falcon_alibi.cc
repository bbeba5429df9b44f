#include "qkv/layer/mechanism/falcon_alibi.h"

#include <cmath>

#include "qkv/attention/modify/alibi.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/mechanism/mechanism_of.h"

namespace qkv {
namespace {

float rounded(float x) { return static_cast<float>(bfloat16(x)); }

class KeyBias final : public Modifier {
 public:
  KeyBias(std::vector<float> slopes, float scale) : slopes_(std::move(slopes)), scale_(scale) {
    for (float& slope : slopes_) slope = rounded(slope);
  }

  void forward(const Tile& tile, float* s) const override {
    const float slope = slopes_[static_cast<size_t>(tile.head)];
    for (int64_t j = 0; j < tile.keys; ++j) {
      const float bias = rounded(slope * rounded(static_cast<float>(tile.key + j))) * scale_;
      for (int64_t i = 0; i < tile.queries; ++i) s[j * tile.width + i] += bias;
    }
  }
  void backward(const Tile&, const float*, float*, float*) const override {}
  std::string name() const override { return "falcon_alibi"; }

 private:
  std::vector<float> slopes_;
  float scale_;
};

class FalconAlibiMechanism final : public MechanismOf<FalconAlibi> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "falcon-alibi",
            .help = "ALiBi of Falcon: rounded to bf16, and divided by the root of the head width as the scores are",
            .role = Role::position_bias,
            .excludes = {Role::rotation, Role::position_bias},
            .in_cross = false};
  }
  void add_to(AttentionOptions& options, const AttentionPart& part) const override {
    const double width = static_cast<double>(part.size().head_width);
    options.modify.push_back(
        std::make_shared<KeyBias>(alibi_slopes(part.size().heads), static_cast<float>(1 / std::sqrt(width))));
  }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const FalconAlibi& x) { return std::make_shared<FalconAlibiMechanism>(x); }

}  // namespace qkv
