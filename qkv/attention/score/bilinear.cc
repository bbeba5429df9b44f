#include "qkv/attention/score/bilinear.h"

#include "qkv/attention/score/dot_product_score.h"
#include "qkv/attention/score/map_rows.h"
#include "qkv/base/error.h"
#include "qkv/op/linear.h"

namespace qkv {
namespace {

using namespace internal;

class Bilinear final : public DotProductScore {
 public:
  explicit Bilinear(Variable m) : m_(std::move(m)) {}

  Prepared prepare(const Variable& q, const Variable& k) const override {
    require(m_.dim(0) == q.dim(3) && m_.dim(1) == k.dim(3), "bilinear", "m (Dq, Dk) is {} for Dq {} and Dk {}",
            m_.shape(), q.dim(3), k.dim(3));
    return {map_rows(q, [&](const Variable& x) { return linear(x, transpose(m_, 0, 1)); }), k};  // q m
  }
  int64_t prepared_width(int64_t, int64_t k_width) const override { return k_width; }
  std::optional<float> dot_scale(int64_t) const override { return 1.0f; }
  std::string name() const override { return "bilinear(m)"; }

 private:
  Variable m_;
};

}  // namespace

ScorePtr bilinear(const Variable& m) {
  require(m.defined() && m.value().dtype() == DType::f32 && m.value().rank() == 2, "bilinear",
          "m must be f32 of shape (Dq, Dk), got {}", m.defined() ? to_string(m.shape()) : "nothing");
  return std::make_shared<Bilinear>(m);
}

}  // namespace qkv
