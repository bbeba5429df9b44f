#include "qkv/attention/score/additive.h"

#include "qkv/attention/score/map_rows.h"
#include "qkv/base/error.h"
#include "qkv/base/scratch.h"
#include "qkv/kernel/kernels.h"
#include "qkv/op/linear.h"
#include "qkv/op/shape.h"

namespace qkv {
namespace {

using namespace internal;

// The score of projected queries and keys.
class Features : public Score {
 public:
  explicit Features(Variable w_v) : w_v_(std::move(w_v)), packed_(w_v_.value().contiguous_copy()) {}

  int64_t prepared_width(int64_t, int64_t) const final { return packed_.numel(); }
  void forward(const Tile& tile, const ScoreOperands& x, float* s) const final {
    const kernel::AdditiveTile t = kernel_tile(tile, x);
    Scratch scratch;
    kernels().additive(t, s, scratch.floats(kernels().additive_memory(t)));
  }
  void backward(const Tile& tile, const ScoreOperands& x, const WeightOperand& ds,
                const ScoreGradients& g) const final {
    const kernel::AdditiveTile t = kernel_tile(tile, x);
    Scratch scratch;
    kernels().additive_backward(t, ds.tile,
                                {.dq = g.dq_transposed, .dk = g.dk, .dk_stride = x.q.row_width, .dw = g.parameters},
                                scratch.floats(kernels().additive_memory(t)));
  }
  std::vector<Variable> parameters() const final { return {w_v_}; }
  double pair_flops(int64_t) const final { return 4.0 * static_cast<double>(packed_.numel()); }  // + tanh * +

 private:
  static const kernel::AttentionKernels& kernels() { return kernel::kernels().attention; }
  kernel::AdditiveTile kernel_tile(const Tile& tile, const ScoreOperands& x) const {
    return {.q = x.q.transposed,
            .q_stride = x.q.stride,
            .width = tile.width,
            .k = x.k.rows,
            .k_stride = x.k.row_stride,
            .keys = tile.keys,
            .w = packed_.data<float>(),
            .features = x.k.width};
  }

  Variable w_v_;
  Tensor packed_;
};

Variable project(const Variable& x, const Weight& w) {
  return map_rows(x, [&](const Variable& rows) { return linear(rows, w); });
}

class Additive final : public Features {
 public:
  Additive(const Variable& w_q, const Variable& w_k, const Variable& w_v) : Features(w_v), w_q_(w_q), w_k_(w_k) {}

  Prepared prepare(const Variable& q, const Variable& k) const override {
    return {project(q, w_q_), project(k, w_k_)};
  }
  std::string name() const override { return "additive(w_q, w_k, w_v)"; }

 private:
  Weight w_q_, w_k_;  // packed once for all calls
};

class ProjectedAdditive final : public Features {
 public:
  explicit ProjectedAdditive(const Variable& w_v) : Features(w_v) {}

  Prepared prepare(const Variable& q, const Variable& k) const override {
    const int64_t F = prepared_width(q.dim(3), k.dim(3));
    require(q.dim(3) == F && k.dim(3) == F, "additive", "w_v (F) has F {}, q (B,H,T,F) is {}, k (B,G,S,F) is {}", F,
            q.shape(), k.shape());
    return {q, k};
  }
  std::string name() const override { return "additive(w_v)"; }
};

class Concat final : public Features {
 public:
  Concat(Variable w, const Variable& w_v) : Features(w_v), w_(std::move(w)) {}

  Prepared prepare(const Variable& q, const Variable& k) const override {
    const int64_t Dq = q.dim(3), Dk = k.dim(3);
    require(w_.dim(1) == Dq + Dk, "concat", "w (F, Dq + Dk) is {} for Dq {} and Dk {}", w_.shape(), Dq, Dk);
    return {project(q, slice(w_, 1, 0, Dq)), project(k, slice(w_, 1, Dq, Dq + Dk))};
  }
  std::string name() const override { return "concat(w, w_v)"; }

 private:
  Variable w_;
};

}  // namespace

ScorePtr additive(const Variable& w_q, const Variable& w_k, const Variable& w_v) {
  require(w_q.value().rank() == 2 && w_k.value().rank() == 2 && w_v.value().rank() == 1 &&
              w_q.dim(0) == w_v.dim(0) && w_k.dim(0) == w_v.dim(0),
          "additive", "F must agree: w_q (F,Dq) is {}, w_k (F,Dk) is {}, w_v (F) is {}", w_q.shape(), w_k.shape(),
          w_v.shape());
  return std::make_shared<Additive>(w_q, w_k, w_v);
}

ScorePtr additive(const Variable& w_v) {
  require(w_v.value().rank() == 1, "additive", "w_v must be (F), got {}", w_v.shape());
  return std::make_shared<ProjectedAdditive>(w_v);
}

ScorePtr concat(const Variable& w, const Variable& w_v) {
  require(w.value().rank() == 2 && w_v.value().rank() == 1 && w.dim(0) == w_v.dim(0), "concat",
          "F must agree: w (F, Dq + Dk) is {}, w_v (F) is {}", w.shape(), w_v.shape());
  return std::make_shared<Concat>(w, w_v);
}

}  // namespace qkv
