#include "qkv/attention/score/additive.h"

#include "qkv/base/error.h"
#include "qkv/kernel/kernels.h"
#include "qkv/op/linear.h"

namespace qkv {
namespace {

class Additive final : public Score {
 public:
  Additive(Variable w_q, Variable w_k, Variable w_v)
      : w_q_(std::move(w_q)), w_k_(std::move(w_k)), w_v_(std::move(w_v)), packed_(w_v_.value().contiguous_copy()) {}

  Prepared prepare(const Variable& q, const Variable& k) const override {
    return {linear(q, w_q_), linear(k, w_k_)};
  }

  void forward(const Tile& tile, const ScoreOperands& x, float* s) const override {
    kernel::kernels().attention.additive(x.q.transposed, x.q.stride, tile.width, x.k.rows, x.k.row_stride,
                                         tile.keys, weights(), x.k.width, s);
  }
  void backward(const Tile& tile, const ScoreOperands& x, const WeightOperand& ds,
                const ScoreGradients& g) const override {
    kernel::kernels().attention.additive_backward(x.q.transposed, x.q.stride, tile.width, x.k.rows, x.k.row_stride,
                                                  tile.keys, weights(), x.k.width, ds.tile, g.dq_transposed, g.dk,
                                                  x.q.row_width, g.parameters);
  }
  std::vector<Variable> parameters() const override { return {w_v_}; }
  double pair_flops(int64_t) const override { return 4.0 * static_cast<double>(packed_.numel()); }  // + tanh * +
  std::string name() const override { return "additive(w_q, w_k, w_v)"; }

 private:
  const float* weights() const { return packed_.data<float>(); }

  Variable w_q_, w_k_, w_v_;
  Tensor packed_;  // w_v
};

}  // namespace

ScorePtr additive(const Variable& w_q, const Variable& w_k, const Variable& w_v) {
  require(w_q.value().rank() == 2 && w_k.value().rank() == 2 && w_v.value().rank() == 1 &&
              w_q.dim(0) == w_v.dim(0) && w_k.dim(0) == w_v.dim(0),
          "additive", "w_q (F,Dq) is {}, w_k (F,Dk) is {}, w_v (F) is {}: F must agree", w_q.shape(), w_k.shape(),
          w_v.shape());
  return std::make_shared<Additive>(w_q, w_k, w_v);
}

}  // namespace qkv
