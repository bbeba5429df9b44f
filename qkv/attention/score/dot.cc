#include "qkv/attention/score/dot.h"

#include <cmath>
#include <optional>

#include "qkv/base/error.h"
#include "qkv/kernel/kernels.h"

namespace qkv {
namespace {

class Dot final : public Score {
 public:
  explicit Dot(std::optional<float> scale) : scale_(scale) {}

  float query_scale(int64_t D) const override { return scale_ ? *scale_ : 1.0f / std::sqrt(static_cast<float>(D)); }

  void forward(const Tile& tile, const ScoreOperands& x, float* s) const override {
    kernel::kernels().attention.product({.a = x.k,
                                         .a_row_stride = x.k_stride,
                                         .a_column_stride = 1,
                                         .b = x.q_transposed,
                                         .b_row_stride = tile.width,
                                         .c = s,
                                         .c_row_stride = tile.width,
                                         .rows = tile.keys,
                                         .width = tile.width,
                                         .depth = x.D});
  }

  void backward(const Tile& tile, const ScoreOperands& x, const float* ds, const ScoreGradients& g) const override {
    const auto& kernels = kernel::kernels().attention;
    kernels.product_add({.a = ds,  // dK (keys, D) += dS (keys, queries) Q (queries, D)
                         .a_row_stride = tile.width,
                         .a_column_stride = 1,
                         .b = x.q_rows,
                         .b_row_stride = x.row_width,
                         .c = g.dk,
                         .c_row_stride = x.row_width,
                         .rows = tile.keys,
                         .width = x.row_width,
                         .depth = tile.queries});
    kernels.product_add({.a = x.k,  // dQ^T (D, queries) += K^T (D, keys) dS (keys, queries)
                         .a_row_stride = 1,
                         .a_column_stride = x.k_stride,
                         .b = ds,
                         .b_row_stride = tile.width,
                         .c = g.dq_transposed,
                         .c_row_stride = tile.width,
                         .rows = x.D,
                         .width = tile.width,
                         .depth = tile.keys});
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
