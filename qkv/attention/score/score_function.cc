#include "qkv/attention/score/score_function.h"

#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/base/scratch.h"

namespace qkv {
namespace {

class FunctionScore final : public Score {
 public:
  FunctionScore(ScoreFunction f, ScoreFunctionOptions options) : f_(std::move(f)), options_(std::move(options)) {}

  void forward(const Tile& tile, const ScoreOperands& x, float* s) const override {
    const int64_t D = x.k.width;
    Scratch scratch;
    float* q = scratch.floats(D);
    for (int64_t i = 0; i < tile.queries; ++i) {
      load_query(x, i, q);
      for (int64_t j = 0; j < tile.keys; ++j) s[j * tile.width + i] = f_(q, x.k.rows + j * x.k.row_stride, D);
    }
    for (int64_t j = 0; j < tile.keys; ++j)
      std::fill(s + j * tile.width + tile.queries, s + (j + 1) * tile.width, 0.0f);
  }

  void backward(const Tile& tile, const ScoreOperands& x, const WeightOperand& ds,
                const ScoreGradients& g) const override {
    require(static_cast<bool>(options_.backward), "score_function", "{} has no backward: give .backward",
            options_.name);
    const int64_t D = x.k.width;
    Scratch scratch;
    float *q = scratch.floats(D), *dq = scratch.floats(D);
    for (int64_t i = 0; i < tile.queries; ++i) {
      load_query(x, i, q);
      std::fill_n(dq, D, 0.0f);
      for (int64_t j = 0; j < tile.keys; ++j)
        options_.backward(q, x.k.rows + j * x.k.row_stride, D, ds.tile[j * tile.width + i], dq,
                          g.dk + j * x.q.row_width);
      for (int64_t d = 0; d < D; ++d) g.dq_transposed[d * x.q.stride + i] += dq[d];
    }
  }
  std::string name() const override { return options_.name; }

 private:
  static void load_query(const ScoreOperands& x, int64_t i, float* q) {
    for (int64_t d = 0; d < x.k.width; ++d) q[d] = x.q.transposed[d * x.q.stride + i];
  }

  ScoreFunction f_;
  ScoreFunctionOptions options_;
};

}  // namespace

ScorePtr score_function(ScoreFunction f, ScoreFunctionOptions options) {
  require(static_cast<bool>(f), "score_function", "expected a function (q, k, D) -> score, got none");
  return std::make_shared<FunctionScore>(std::move(f), std::move(options));
}

}  // namespace qkv
