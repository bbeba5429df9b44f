#include "qkv/test_support/reference_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qkv::test {
namespace {

using namespace reference;

template <class Kind>
ReferenceTensor stored(const std::vector<typename Kind::Real>& numbers) {
  ReferenceTensor tensor;
  double variance = 0;
  for (const auto& number : numbers) {
    const auto x = Kind::keep(number);
    tensor.values.push_back(value_of(x));
    if constexpr (std::is_same_v<typename Kind::Real, Measured>) variance = std::max(variance, x.variance);
  }
  tensor.error = std::sqrt(variance) * Measured::unit;
  return tensor;
}

template <class Kind>
class Computation {
  using Real = typename Kind::Real;

 public:
  explicit Computation(const ReferenceCall& call)
      : call_(call),
        n_(call.shape()),
        context_{n_, Rows<Kind>(call.q), Rows<Kind>(call.k)},
        v_(call.v),
        dout_(call.dout),
        out_(n_.E, static_cast<size_t>(n_.B * n_.H * n_.T * n_.E)),
        weights_(n_.S, static_cast<size_t>(n_.B * n_.H * n_.T * n_.S)),
        lse_(static_cast<size_t>(n_.B * n_.H * n_.T), Real(-std::numeric_limits<double>::infinity())),
        score_(call.score.make(context_)),
        normalizer_(call.normalize.make(context_)) {
    for (const ModifierRecipe& recipe : call.modify) modifiers_.push_back(recipe.make(context_));
    for (const ReweigherRecipe& recipe : call.reweigh) reweighers_.push_back(recipe.make(context_));
  }

  ReferenceResult run() {
    for (int64_t query = 0; query < n_.B * n_.H * n_.T; ++query) one_query(query);
    if (with_backward()) {
      score_->finish(context_);
      for (auto& reweigher : reweighers_) reweigher->finish(context_);
    }
    ReferenceResult result = {.out = stored<Kind>(out_.values),
                              .weights = stored<Kind>(weights_.values),
                              .lse = stored<Kind>(lse_),
                              .dq = stored<Kind>(context_.q.gradient),
                              .dk = stored<Kind>(context_.k.gradient),
                              .dv = stored<Kind>(v_.gradient)};
    const auto append = [&](const Parameters<Kind>& parameters) {
      for (const Rows<Kind>* p : parameters) result.parameters.push_back(stored<Kind>(p->gradient));
    };
    append(score_->parameters());
    for (auto& modifier : modifiers_) append(modifier->parameters());
    append(normalizer_->parameters());
    for (auto& reweigher : reweighers_) append(reweigher->parameters());
    return result;
  }

 private:
  // A visible pair: its score before and after each modifier, the weight before and after the reweighting, the slope
  // of the weight along the score, the gradient of the weight.
  struct Visible {
    Pair at;
    std::vector<Real> s = {};
    Real p = 0, slope = 0, dp = 0;
  };

  bool with_backward() const { return !dout_.values.empty(); }

  void one_query(int64_t query) {
    std::vector<Visible> keys = visible_keys(query);
    if (keys.empty()) return;
    const Pair first = keys.front().at;
    Real largest = keys.front().s.back();
    for (const Visible& x : keys)
      if (value_of(x.s.back()) > value_of(largest)) largest = x.s.back();
    const Real maximum = Real(value_of(normalizer_->maximum(first, largest)));  // as exact: it cancels
    const Real extra = normalizer_->extra(first, maximum);
    Real total = extra;
    for (Visible& x : keys) {
      x.p = normalizer_->value(x.s.back(), maximum);
      x.slope = normalizer_->slope(x.s.back(), x.p);
      total += x.p;
    }
    if (value_of(total) == 0) return;
    lse_[query] = maximum + log(total);
    Real delta = 0;
    for (Visible& x : keys) {
      x.p = Kind::keep(x.p / total);
      x.slope = Kind::keep(x.slope / total);
      weigh(x);
      delta += x.p * x.dp;
    }
    if (!with_backward()) return;
    normalizer_->backward_extra(first, extra / total, delta);
    for (const Visible& x : keys) {
      Real ds = Kind::keep(x.slope * (x.dp - delta));
      for (size_t m = modifiers_.size(); m-- > 0;)
        ds = Kind::keep(modifiers_[m]->backward(x.at, x.s[m], x.s[m + 1], ds));
      score_->backward(x.at, ds);
    }
  }

  std::vector<Visible> visible_keys(int64_t query) {
    const int64_t b = query / (n_.H * n_.T), h = query / n_.T % n_.H, i = query % n_.T;
    std::vector<Visible> keys;
    for (int64_t j = 0; j < n_.S; ++j) {
      Visible x{.at = {b, h, i, j, query, (b * n_.G + h * n_.G / n_.H) * n_.S + j}};
      if ((call_.visible && !call_.visible(b, h, i, j)) || !score_->visible(x.at)) continue;
      x.s.push_back(Kind::keep(score_->forward(x.at)));
      for (auto& modifier : modifiers_) {
        x.s.push_back(Kind::keep(modifier->forward(x.at, x.s.back())));
        if (std::isinf(value_of(x.s.back()))) break;
      }
      if (!std::isinf(value_of(x.s.back()))) keys.push_back(std::move(x));  // a bias may mask
    }
    return keys;
  }

  // Adds to out and dv, and sets dp.
  void weigh(Visible& x) {
    const int64_t row = x.at.query, key = x.at.key;
    Real factor = 1;
    for (auto& reweigher : reweighers_) factor = factor * reweigher->factor(x.at);
    const Real w = Kind::keep(factor * x.p);
    weights_.row(row)[x.at.j] = w;
    add_scaled<Real>(out_.row(row), w, v_.row(key), n_.E);
    if (!with_backward()) return;
    add_scaled<Real>(v_.gradient_row(key), w, dout_.row(row), n_.E);
    const Real dw = Kind::keep(dot_product<Real>(dout_.row(row), v_.row(key), n_.E));
    for (auto& reweigher : reweighers_) reweigher->backward(x.at, w, dw);
    x.dp = Kind::keep(factor * dw);
  }

  const ReferenceCall& call_;
  const AttentionShape n_;
  Context<Kind> context_;
  Rows<Kind> v_, dout_, out_, weights_;
  std::vector<Real> lse_;
  std::unique_ptr<ScorePart<Kind>> score_;
  std::vector<std::unique_ptr<ModifierPart<Kind>>> modifiers_;
  std::unique_ptr<NormalizerPart<Kind>> normalizer_;
  std::vector<std::unique_ptr<ReweigherPart<Kind>>> reweighers_;
};

}  // namespace

AttentionShape ReferenceCall::shape() const {
  return {.B = q.shape.dim(0),
          .H = q.shape.dim(1),
          .G = k.shape.dim(1),
          .T = q.shape.dim(2),
          .S = k.shape.dim(2),
          .D = q.shape.dim(3),
          .E = v.shape.dim(3)};
}

ReferenceResult reference_attention(const ReferenceCall& call, Precision precision) {
  switch (precision) {
    case Precision::float64: return Computation<Float64>(call).run();
    case Precision::float32: return Computation<Float32>(call).run();
    case Precision::bfloat16: return Computation<Bfloat16>(call).run();
    case Precision::float64_and_float32_error: return Computation<MeasuredFloat32>(call).run();
    case Precision::float64_and_bfloat16_error: break;
  }
  return Computation<MeasuredBfloat16>(call).run();
}

}  // namespace qkv::test
