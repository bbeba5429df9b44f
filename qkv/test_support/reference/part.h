// What the mechanisms of the reference are made of: a class template per mechanism, in a number type, and a recipe that
// makes it in any of them.
//
//     template <class Kind>
//     struct Softcap final : ModifierPart<Kind> {
//       Softcap(const Context<Kind>&, double cap);
//       Real forward(const Pair&, Real s) override { return cap * tanh(s / cap); }
//       Real backward(const Pair&, Real s, Real modified, Real ds) override { ... }
//     };
//     ModifierRecipe softcap(double cap) { return recipe<ModifierPart, Softcap>(cap); }
#pragma once

#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "qkv/attention/tile.h"
#include "qkv/autograd/variable.h"
#include "qkv/test_support/reference/number.h"
#include "qkv/test_support/tensors.h"

namespace qkv::test::reference {

// A tensor in float64.
struct Values {
  Shape shape;
  std::vector<double> numbers;

  Values() = default;
  Values(const Tensor& x) : shape(x.shape()), numbers(doubles(x)) {}  // NOLINT: implicit on purpose, like the next
  Values(const Variable& x) : Values(x.value()) {}                    // NOLINT
  Values(const Shape& s, std::vector<double> x) : shape(s), numbers(std::move(x)) {}
};

// Rows of numbers and their gradients. Parameters are one too.
template <class Kind>
struct Rows {
  using Real = typename Kind::Real;
  int64_t width = 1;
  std::vector<Real> values, gradient;

  Rows() = default;
  explicit Rows(const Values& x) : Rows(x.shape.rank() ? x.shape.dim(-1) : 1, x.numbers.size()) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<Real>(x.numbers[i]);
  }
  Rows(int64_t row_width, size_t count) : width(row_width), values(count), gradient(count) {}

  int64_t count() const { return static_cast<int64_t>(values.size()) / std::max<int64_t>(1, width); }
  Real* row(int64_t n) { return values.data() + n * width; }
  const Real* row(int64_t n) const { return values.data() + n * width; }
  Real* gradient_row(int64_t n) { return gradient.data() + n * width; }
};

template <class Real>
Real dot_product(const Real* a, const Real* b, int64_t n) {
  Real sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}
template <class Real>
void add_scaled(Real* sum, const Real& factor, const Real* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += factor * x[i];
}

struct Pair {
  int64_t b, h, i, j;
  int64_t query, key;  // rows of q (B,H,T,D) and k (B,G,S,D)
};

template <class Kind>
struct Context {
  AttentionShape n;  // D is the width of the queries
  Rows<Kind> q, k;
};

template <class Kind>
using Parameters = std::vector<Rows<Kind>*>;

template <class Kind>
struct ScorePart {
  using Real = typename Kind::Real;
  virtual ~ScorePart() = default;
  virtual bool visible(const Pair&) const { return true; }
  virtual Real forward(const Pair& pair) = 0;
  virtual void backward(const Pair& pair, Real ds) = 0;
  virtual void finish(Context<Kind>&) = 0;  // after the last pair: adds to the gradients of q and k
  virtual Parameters<Kind> parameters() { return {}; }
};

template <class Kind>
struct ModifierPart {
  using Real = typename Kind::Real;
  virtual ~ModifierPart() = default;
  virtual Real forward(const Pair& pair, Real s) = 0;
  virtual Real backward(const Pair& pair, Real s, Real modified, Real ds) = 0;  // returns the gradient of s
  virtual Parameters<Kind> parameters() { return {}; }
};

// w_j = value(s_j, m) / (extra(m) + sum_j value(s_j, m)), whatever the maximum m is.
template <class Kind>
struct NormalizerPart {
  using Real = typename Kind::Real;
  virtual ~NormalizerPart() = default;
  virtual Real maximum(const Pair& first, Real largest) { return static_cast<void>(first), largest; }
  virtual Real extra(const Pair&, Real) { return Real(0); }
  virtual Real value(Real s, Real maximum) = 0;
  virtual Real slope(Real s, Real value) = 0;                                   // d value / d s
  virtual void backward_extra(const Pair&, Real /*weight*/, Real /*delta*/) {}  // weight = extra / total
  virtual Parameters<Kind> parameters() { return {}; }
};

template <class Kind>
struct ReweigherPart {
  using Real = typename Kind::Real;
  virtual ~ReweigherPart() = default;
  virtual Real factor(const Pair& pair) = 0;
  virtual void backward(const Pair&, Real /*weight*/, Real /*dweight*/) {}  // of the weight with all factors
  virtual void finish(Context<Kind>&) {}
  virtual Parameters<Kind> parameters() { return {}; }
};

// Makes a part in any number type.
template <template <class> class Part>
class Recipe {
 public:
  template <class Kind>
  using Make = std::function<std::unique_ptr<Part<Kind>>(const Context<Kind>&)>;

  template <class Kind>
  std::unique_ptr<Part<Kind>> make(const Context<Kind>& context) const {
    return std::get<Make<Kind>>(makers_)(context);
  }

  template <template <class> class Mechanism, class... Arguments>
  static Recipe of(const Arguments&... arguments) {
    Recipe recipe;
    std::apply([&](auto&... maker) { (set<Mechanism>(maker, arguments...), ...); }, recipe.makers_);
    return recipe;
  }

 private:
  template <template <class> class Mechanism, class Kind, class... Arguments>
  static void set(std::function<std::unique_ptr<Part<Kind>>(const Context<Kind>&)>& maker,
                  const Arguments&... arguments) {
    maker = [arguments...](const Context<Kind>& context) {
      return std::make_unique<Mechanism<Kind>>(context, arguments...);
    };
  }

  std::tuple<Make<Float64>, Make<Float32>, Make<Bfloat16>, Make<MeasuredFloat32>, Make<MeasuredBfloat16>> makers_;
};

using ScoreRecipe = Recipe<ScorePart>;
using ModifierRecipe = Recipe<ModifierPart>;
using NormalizerRecipe = Recipe<NormalizerPart>;
using ReweigherRecipe = Recipe<ReweigherPart>;

}  // namespace qkv::test::reference
