#include "qkv/attention/score/location.h"

#include <algorithm>

#include "qkv/attention/mask/padding.h"
#include "qkv/attention/score/dot_product_score.h"
#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/op/convert.h"

namespace qkv {
namespace {

using namespace internal;

// The gradient of w (rows, D), from that of its rows as keys (B,G,S,D): the sum over B and G, in this order.
Tensor gradient_of_rows(const Tensor& grad, int64_t rows) {
  const Tensor dk = grad.contiguous_copy();
  const int64_t S = dk.dim(2), D = dk.dim(3), heads = dk.dim(0) * dk.dim(1);
  Tensor dw = Tensor::zeros({rows, D});
  float* to = dw.data<float>();
  const float* from = dk.data<float>();
  parallel_ranges(std::min(rows, S), 16, [&](int64_t begin, int64_t end) {
    for (int64_t bg = 0; bg < heads; ++bg)
      kernel::kernels().rows.add_scaled(from + (bg * S + begin) * D, 1.0f, (end - begin) * D, to + begin * D);
  });
  return dw;
}

// The rows of w as keys, a (B,G,S,D) view of one (S,D) table; zero after the last row.
Variable rows_as_keys(const Variable& w, const Shape& shape) {
  const OpScope scope("location", OpWork::moves(w.value(), 2));
  const int64_t rows = w.dim(0), count = std::min(rows, shape.dim(2));
  Tensor table = Tensor::zeros({1, 1, shape.dim(2), shape.dim(3)});
  table.slice(2, 0, count)
      .copy_from(w.value().slice(0, 0, count).contiguous_copy().reshape({1, 1, count, w.dim(1)}));
  return record("location", {w}, table.expand(shape), [rows](const Tensor& dk, const std::vector<bool>&) {
    return std::vector<Tensor>{gradient_of_rows(dk, rows)};
  });
}

class Location final : public DotProductScore {
 public:
  explicit Location(Variable w) : w_(std::move(w)) {}

  Prepared prepare(const Variable& q, const Variable& k) const override {
    require(w_.dim(1) == q.dim(3), "location", "w (rows, Dq) is {} for Dq {}", w_.shape(), q.dim(3));
    return {q, convert(rows_as_keys(w_, {k.dim(0), k.dim(1), k.dim(2), q.dim(3)}), q.value().dtype())};
  }
  MaskPtr mask(const AttentionShape& shape) const override {
    if (w_.dim(0) >= shape.S) return {};
    return padding(std::vector<int32_t>(static_cast<size_t>(shape.B), static_cast<int32_t>(w_.dim(0))));
  }
  bool reads_positions() const override { return true; }
  std::optional<float> dot_scale(int64_t) const override { return 1.0f; }
  std::string name() const override { return "location(w)"; }

 private:
  Variable w_;
};

}  // namespace

ScorePtr location(const Variable& w) {
  require(w.defined() && w.value().dtype() == DType::f32 && w.value().rank() == 2, "location",
          "w must be f32 of shape (rows, Dq), got {}", w.defined() ? to_string(w.shape()) : "nothing");
  return std::make_shared<Location>(w);
}

}  // namespace qkv
