#include "qkv/test_support/reference/modify.h"

#include <cstdlib>

namespace qkv::test::reference {
namespace {

template <class Kind>
struct Softcap final : ModifierPart<Kind> {
  using Real = typename Kind::Real;
  Real cap;
  Softcap(const Context<Kind>&, double c) : cap(static_cast<Real>(c)) {}
  Real forward(const Pair&, Real s) override { return cap * tanh(s / cap); }
  Real backward(const Pair&, Real, Real modified, Real ds) override {
    const Real t = modified / cap;
    return ds * (Real(1) - t * t);
  }
};

// s + factor * parameter, one of its numbers for each pair.
template <class Kind>
struct Added : ModifierPart<Kind> {
  using Real = typename Kind::Real;
  AttentionShape n;
  Rows<Kind> parameter;

  Added(const Context<Kind>& c, const Values& p) : n(c.n), parameter(p) {}
  virtual int64_t index(const Pair& pair) const = 0;
  virtual double factor(const Pair&) const { return 1; }
  Real forward(const Pair& pair, Real s) override {
    return s + static_cast<Real>(factor(pair)) * parameter.values[index(pair)];
  }
  Real backward(const Pair& pair, Real, Real, Real ds) override {
    parameter.gradient[index(pair)] += static_cast<Real>(factor(pair)) * ds;
    return ds;
  }
  Parameters<Kind> parameters() override { return {&parameter}; }
};

template <class Kind>
struct Bias final : Added<Kind> {
  Shape shape;
  Bias(const Context<Kind>& c, const Values& numbers) : Added<Kind>(c, numbers), shape(numbers.shape) {}
  int64_t index(const Pair& pair) const override {
    const int64_t full[] = {pair.b, pair.h, pair.i, pair.j};
    int64_t at = 0;
    for (int axis = 0; axis < 4; ++axis) at = at * shape[axis] + (shape[axis] == 1 ? 0 : full[axis]);
    return at;
  }
};

template <class Kind>
struct Alibi final : Added<Kind> {
  using Added<Kind>::Added;
  int64_t index(const Pair& pair) const override { return pair.h; }
  double factor(const Pair& pair) const override {
    return -static_cast<double>(std::abs(this->n.position(pair.i) - pair.j));
  }
};

template <class Kind>
struct RelativeBias final : Added<Kind> {
  RelativeBuckets buckets;
  RelativeBias(const Context<Kind>& c, const Values& table, const RelativeBuckets& b)
      : Added<Kind>(c, table), buckets(b) {}
  int64_t index(const Pair& pair) const override {
    return relative_bucket(pair.j - this->n.position(pair.i), buckets) * this->n.H + pair.h;
  }
};

}  // namespace

ModifierRecipe softcap(double cap) { return ModifierRecipe::of<Softcap>(cap); }
ModifierRecipe bias(const Values& numbers) { return ModifierRecipe::of<Bias>(numbers); }
ModifierRecipe alibi(const Values& slopes) { return ModifierRecipe::of<Alibi>(slopes); }
ModifierRecipe relative_bias(const Values& table, const RelativeBuckets& buckets) {
  return ModifierRecipe::of<RelativeBias>(table, buckets);
}

}  // namespace qkv::test::reference
