#include "qkv/test_support/reference/normalize.h"

namespace qkv::test::reference {
namespace {

template <class Kind>
struct Softmax : NormalizerPart<Kind> {
  using Real = typename Kind::Real;
  explicit Softmax(const Context<Kind>&) {}
  Real value(Real s, Real maximum) override { return exp(s - maximum); }
  Real slope(Real, Real value) override { return value; }
};

// The sink is a key with a value of zero.
template <class Kind>
struct SoftmaxWithSink final : Softmax<Kind> {
  using Real = typename Kind::Real;
  Rows<Kind> sink;
  SoftmaxWithSink(const Context<Kind>& c, const Values& values) : Softmax<Kind>(c), sink(values) {}
  Real maximum(const Pair& first, Real largest) override {
    return value_of(largest) < value_of(sink.values[first.h]) ? sink.values[first.h] : largest;
  }
  Real extra(const Pair& first, Real maximum) override { return exp(sink.values[first.h] - maximum); }
  void backward_extra(const Pair& first, Real weight, Real delta) override {
    sink.gradient[first.h] -= weight * delta;
  }
  Parameters<Kind> parameters() override { return {&sink}; }
};

// No maximum is subtracted from the score of a kernel.
template <class Kind>
struct Kernel : NormalizerPart<Kind> {
  using Real = typename Kind::Real;
  explicit Kernel(const Context<Kind>&) {}
  Real maximum(const Pair&, Real) override { return Real(0); }
  Real slope(Real, Real) override { return Real(0); }
  static bool inside(const Real& s) { return value_of(s) > -0.5; }  // u < 1
};

template <class Kind>
struct Constant final : Kernel<Kind> {
  using Real = typename Kind::Real;
  using Kernel<Kind>::Kernel;
  Real value(Real, Real) override { return Real(1); }
};

template <class Kind>
struct Boxcar final : Kernel<Kind> {
  using Real = typename Kind::Real;
  using Kernel<Kind>::Kernel;
  Real value(Real s, Real) override { return Real(this->inside(s) ? 1 : 0); }
};

template <class Kind>
struct Epanechnikov final : Kernel<Kind> {  // 1 - u^2
  using Real = typename Kind::Real;
  using Kernel<Kind>::Kernel;
  Real value(Real s, Real) override { return this->inside(s) ? Real(1) + Real(2) * s : Real(0); }
  Real slope(Real s, Real) override { return Real(this->inside(s) ? 2 : 0); }
};

template <class Kind>
struct Triangular final : Kernel<Kind> {  // 1 - u
  using Real = typename Kind::Real;
  using Kernel<Kind>::Kernel;
  Real value(Real s, Real) override { return this->inside(s) ? Real(1) - sqrt(Real(-2) * s) : Real(0); }
  Real slope(Real s, Real) override {
    return this->inside(s) && value_of(s) < 0 ? Real(1) / sqrt(Real(-2) * s) : Real(0);
  }
};

}  // namespace

NormalizerRecipe softmax() { return NormalizerRecipe::of<Softmax>(); }
NormalizerRecipe softmax_with_sink(const Values& sink) { return NormalizerRecipe::of<SoftmaxWithSink>(sink); }
NormalizerRecipe boxcar() { return NormalizerRecipe::of<Boxcar>(); }
NormalizerRecipe epanechnikov() { return NormalizerRecipe::of<Epanechnikov>(); }
NormalizerRecipe triangular() { return NormalizerRecipe::of<Triangular>(); }
NormalizerRecipe constant() { return NormalizerRecipe::of<Constant>(); }

}  // namespace qkv::test::reference
