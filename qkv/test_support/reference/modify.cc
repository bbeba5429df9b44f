#include "qkv/test_support/reference/modify.h"

#include <cmath>
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

template <class Kind>
struct AbsoluteBias final : Added<Kind> {
  int64_t N;
  AbsoluteBias(const Context<Kind>& c, const Values& table) : Added<Kind>(c, table), N(table.shape[1]) {}
  bool is_inside(const Pair& pair) const {
    const int64_t p = this->n.position(pair.i);
    return p >= 0 && p < N && pair.j < N;
  }
  int64_t index(const Pair& pair) const override {
    return is_inside(pair) ? (pair.h * N + this->n.position(pair.i)) * N + pair.j : 0;
  }
  double factor(const Pair& pair) const override { return is_inside(pair) ? 1 : 0; }
};

// s + a number that is a function of the pair.
template <class Kind>
struct AddedConstant : ModifierPart<Kind> {
  using Real = typename Kind::Real;
  virtual double number(const Pair&) const = 0;
  Real forward(const Pair& pair, Real s) override { return s + static_cast<Real>(number(pair)); }
  Real backward(const Pair&, Real, Real, Real ds) override { return ds; }
};

// The nearest number of 8 significant bits, ties to even: rint() in units of the last of them.
double rounded_to_bf16(double x) {
  if (x == 0) return 0;
  const double unit = std::ldexp(1.0, std::ilogb(x) - 7);
  return std::rint(x / unit) * unit;
}

template <class Kind>
struct FalconAlibi final : AddedConstant<Kind> {
  std::vector<float> slopes;
  double scale;
  FalconAlibi(const Context<Kind>&, const std::vector<float>& s, float c)
      : slopes(s), scale(static_cast<double>(c)) {}
  double number(const Pair& pair) const override {
    const double slope = rounded_to_bf16(static_cast<double>(slopes[static_cast<size_t>(pair.h)]));
    return scale * rounded_to_bf16(slope * rounded_to_bf16(static_cast<double>(pair.j)));
  }
};

template <class Kind>
struct FirstBlockBias final : AddedConstant<Kind> {
  AttentionShape n;
  int64_t block, copies;
  FirstBlockBias(const Context<Kind>& c, int64_t size, int64_t times) : n(c.n), block(size), copies(times) {}
  double number(const Pair& pair) const override {
    const int64_t p = n.position(pair.i);
    const bool is_between = p >= block && p / block < (n.S - 1) / block;
    return is_between && pair.j < block ? std::log(1.0 + static_cast<double>(copies)) : 0.0;
  }
};

}  // namespace

ModifierRecipe softcap(double cap) { return ModifierRecipe::of<Softcap>(cap); }
ModifierRecipe bias(const Values& numbers) { return ModifierRecipe::of<Bias>(numbers); }
ModifierRecipe alibi(const Values& slopes) { return ModifierRecipe::of<Alibi>(slopes); }
ModifierRecipe relative_bias(const Values& table, const RelativeBuckets& buckets) {
  return ModifierRecipe::of<RelativeBias>(table, buckets);
}
ModifierRecipe absolute_bias(const Values& table) { return ModifierRecipe::of<AbsoluteBias>(table); }
ModifierRecipe falcon_alibi(const std::vector<float>& slopes, float scale) {
  return ModifierRecipe::of<FalconAlibi>(slopes, scale);
}
ModifierRecipe first_block_bias(int64_t block, int64_t copies) {
  return ModifierRecipe::of<FirstBlockBias>(block, copies);
}

}  // namespace qkv::test::reference
