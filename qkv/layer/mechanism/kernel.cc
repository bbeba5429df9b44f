#include "qkv/layer/mechanism/kernel.h"

#include "qkv/attention/normalize/kernel_weights.h"
#include "qkv/attention/score/distance.h"
#include "qkv/layer/mechanism/mechanism_of.h"

namespace qkv {
namespace {

// The common part of the kernels of a distance.
template <class Kernel>
class KernelMechanism : public MechanismOf<Kernel> {
 public:
  using Base = MechanismOf<Kernel>;
  using Base::Base;
  using typename Base::Role;
  typename Base::Fields fields() const override {
    return {{"sigma", &Kernel::sigma, 1e-6, 1e6, /*required=*/true}};
  }
  void add_to(AttentionOptions& options, const AttentionPart&) const override {
    options.score = gaussian(static_cast<float>(this->value.sigma));
    options.normalize = kernel();
  }

 protected:
  virtual NormalizerPtr kernel() const = 0;
  static typename Base::Facts facts_of(std::string_view name, std::string_view help) {
    return {.name = name, .help = help, .role = Role::score, .excludes = {Role::score, Role::normalize}};
  }
};

class BoxcarMechanism final : public KernelMechanism<Boxcar> {
 public:
  using KernelMechanism::KernelMechanism;
  Facts facts() const override {
    return facts_of("boxcar",
                    "kernel regression, weight 1 where |q - k| < sigma, else 0; queries and keys get no gradient");
  }

 private:
  NormalizerPtr kernel() const override { return boxcar(); }
};

class EpanechnikovMechanism final : public KernelMechanism<Epanechnikov> {
 public:
  using KernelMechanism::KernelMechanism;
  Facts facts() const override {
    return facts_of("epanechnikov", "kernel regression, weight max(0, 1 - |q - k|^2 / sigma^2)");
  }

 private:
  NormalizerPtr kernel() const override { return epanechnikov(); }
};

class TriangularMechanism final : public KernelMechanism<Triangular> {
 public:
  using KernelMechanism::KernelMechanism;
  Facts facts() const override {
    return facts_of("triangular", "kernel regression, weight max(0, 1 - |q - k| / sigma)");
  }

 private:
  NormalizerPtr kernel() const override { return triangular(); }
};

class ConstantMechanism final : public MechanismOf<Constant> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "constant",
            .help = "the same weight for every visible key: average pooling, without query and key projections",
            .role = Role::score,
            .excludes = {Role::score, Role::normalize, Role::modify, Role::rotation, Role::position_bias,
                         Role::global_projections},
            .reads_queries = false,
            .reads_keys = false};
  }
  void add_to(AttentionOptions& options, const AttentionPart&) const override { options.normalize = constant(); }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const Boxcar& x) { return std::make_shared<BoxcarMechanism>(x); }
AttentionMechanismPtr mechanism_of(const Epanechnikov& x) { return std::make_shared<EpanechnikovMechanism>(x); }
AttentionMechanismPtr mechanism_of(const Triangular& x) { return std::make_shared<TriangularMechanism>(x); }
AttentionMechanismPtr mechanism_of(const Constant& x) { return std::make_shared<ConstantMechanism>(x); }

}  // namespace qkv
