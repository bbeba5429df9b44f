#include "qkv/attention/modify/alibi.h"

#include <bit>
#include <cmath>
#include <cstdlib>

#include "qkv/attention/modify/distance_bias.h"
#include "qkv/base/error.h"

namespace qkv {
namespace {

using namespace internal;

class Alibi final : public Modifier {
 public:
  explicit Alibi(Variable slopes) : slopes_(std::move(slopes)) {}

  void check(const AttentionShape& shape) const override {
    require(slopes_.dim(0) == shape.H, "alibi", "{} slopes for H {} query heads", slopes_.dim(0), shape.H);
  }
  void forward(const Tile& tile, float* s) const override {
    const Tensor& slopes = slopes_.value();
    const float slope = slopes.data<float>()[tile.head * slopes.stride(0)];
    const TileDistances distances(tile);
    float bias[max_tile_distances];
    for (int64_t t = 0; t < distances.count; ++t)
      bias[t] = -slope * static_cast<float>(std::abs(distances.largest - t));
    add_by_distance(tile, bias, s);
  }
  // ds/dslope_h = -|r|
  void backward(const Tile& tile, const float* /*modified*/, float* ds, float* parameters) const override {
    if (!slopes_.requires_grad()) return;
    const TileDistances distances(tile);
    float sums[max_tile_distances];
    sum_by_distance(tile, ds, sums);
    double total = 0;
    for (int64_t t = 0; t < distances.count; ++t)
      total += static_cast<double>(std::abs(distances.largest - t)) * static_cast<double>(sums[t]);
    parameters[tile.head] -= static_cast<float>(total);
  }
  std::vector<Variable> parameters() const override {
    return slopes_.requires_grad() ? std::vector{slopes_} : std::vector<Variable>{};
  }
  std::string name() const override { return "alibi(slopes)"; }

 private:
  Variable slopes_;
};

}  // namespace

std::vector<float> alibi_slopes(int64_t heads) {
  require(heads >= 1, "alibi_slopes", "heads must be positive, got {}", heads);
  const auto slope = [](int64_t h, int64_t H) {
    return static_cast<float>(std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(H)));
  };
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  std::vector<float> slopes;
  for (int64_t h = 0; h < power; ++h) slopes.push_back(slope(h, power));
  for (int64_t h = power; h < heads; ++h) slopes.push_back(slope(2 * (h - power), 2 * power));
  return slopes;
}

ModifierPtr alibi(const Variable& slopes) {
  require(slopes.defined() && slopes.value().dtype() == DType::f32 && slopes.value().rank() == 1, "alibi",
          "slopes must be f32 of shape (H), got {}", slopes.defined() ? to_string(slopes.shape()) : "nothing");
  return std::make_shared<Alibi>(slopes);
}

ModifierPtr alibi(const std::vector<float>& slopes) {
  return alibi(Variable(Tensor::from(slopes, {static_cast<int64_t>(slopes.size())})));
}

}  // namespace qkv
