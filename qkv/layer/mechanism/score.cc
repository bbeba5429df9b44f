#include "qkv/layer/mechanism/score.h"

#include <cmath>

#include "qkv/attention/score/additive.h"
#include "qkv/attention/score/bilinear.h"
#include "qkv/attention/score/cosine.h"
#include "qkv/attention/score/distance.h"
#include "qkv/attention/score/dot.h"
#include "qkv/attention/score/location.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/initialise.h"
#include "qkv/layer/mechanism/mechanism_of.h"

namespace qkv {
namespace {

constexpr double max_width = 1 << 16;

class DotMechanism final : public MechanismOf<Dot> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "dot",
            .help = "dot product SCALE q . k; 1 for none, unlike the scaled dot product (Luong et al., 2015)",
            .role = Role::score,
            .excludes = {Role::score}};
  }
  Fields fields() const override { return {{"scale", &Dot::scale, 1e-6, 1e6}}; }
  void add_to(AttentionOptions& options, const AttentionPart&) const override {
    options.score = dot(static_cast<float>(value.scale));
  }
};

// m = I / sqrt(D): the scaled dot product.
void initialise_scaled_dot(Variable& m, uint64_t, const std::string&) {
  const int64_t D = m.dim(0);
  m.mutable_value().fill(0.0f);
  for (int64_t d = 0; d < D; ++d)
    m.mutable_value().data<float>()[d * D + d] = 1.0f / std::sqrt(static_cast<float>(D));
}

class BilinearMechanism final : public MechanismOf<Bilinear> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "bilinear",
            .help = "bilinear score q^T M k (Luong et al., 2015, \"general\")",
            .role = Role::score,
            .excludes = {Role::score}};
  }
  Parameters parameters(const AttentionSize& size) const override {
    const Axis D(size.head_width, "D");
    return {{"matrix", Parameter({D, D}, initialise_scaled_dot)}};
  }
  void add_to(AttentionOptions& options, const AttentionPart& part) const override {
    options.score = bilinear(part.parameter(0));
  }
};

class AdditiveMechanism final : public MechanismOf<Additive> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "additive",
            .help =
                "additive score w_v . tanh(w_q q + w_k k) with a hidden layer of WIDTH, 0 for that of a head "
                "(Bahdanau et al., 2015)",
            .role = Role::score,
            .excludes = {Role::score}};
  }
  Fields fields() const override { return {{"width", &Additive::width, 0, max_width}}; }
  Parameters parameters(const AttentionSize& size) const override {
    const Axis D(size.head_width, "D"), width(value.width == 0 ? D.size : value.width, "width");
    return {{"query", Parameter({width, D}, fan_in_uniform)},
            {"key", Parameter({width, D}, fan_in_uniform)},
            {"score", score_vector(width)}};
  }
  void add_to(AttentionOptions& options, const AttentionPart& part) const override {
    options.score = additive(part.parameter(0), part.parameter(1), part.parameter(2));
  }
};

class CosineMechanism final : public MechanismOf<Cosine> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "cosine",
            .help = "cosine of query and key, times SCALE and a learned gain",
            .role = Role::score,
            .excludes = {Role::score}};
  }
  Fields fields() const override { return {{"scale", &Cosine::scale, 1e-6, 1e6}}; }
  Parameters parameters(const AttentionSize&) const override { return {{"gain", Parameter({Axis(1)}, {}, 1.0f)}}; }
  void add_to(AttentionOptions& options, const AttentionPart& part) const override {
    options.score = cosine(static_cast<float>(value.scale), part.parameter(0));
  }
};

class DistanceMechanism final : public MechanismOf<Distance> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "distance", .help = "score -|q - k|^2 / 2", .role = Role::score, .excludes = {Role::score}};
  }
  void add_to(AttentionOptions& options, const AttentionPart&) const override { options.score = distance(); }
};

class GaussianMechanism final : public MechanismOf<Gaussian> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "gaussian",
            .help = "score -|q - k|^2 / (2 sigma^2)",
            .role = Role::score,
            .excludes = {Role::score}};
  }
  Fields fields() const override { return {{"sigma", &Gaussian::sigma, 1e-6, 1e6, /*required=*/true}}; }
  void add_to(AttentionOptions& options, const AttentionPart&) const override {
    options.score = gaussian(static_cast<float>(value.sigma));
  }
};

class LocationMechanism final : public MechanismOf<Location> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "location",
            .help =
                "location-based score W q: from the query alone, for the first KEYS keys; no key projections "
                "(Luong et al., 2015)",
            .role = Role::score,
            .excludes = {Role::score, Role::global_projections},
            .reads_keys = false};
  }
  Fields fields() const override { return {{"keys", &Location::keys, 1, max_width}}; }
  Parameters parameters(const AttentionSize& size) const override {
    return {{"rows", Parameter({{value.keys, "keys"}, {size.head_width, "D"}}, fan_in_uniform)}};
  }
  void add_to(AttentionOptions& options, const AttentionPart& part) const override {
    options.score = location(part.parameter(0));
  }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const Dot& x) { return std::make_shared<DotMechanism>(x); }
AttentionMechanismPtr mechanism_of(const Bilinear& x) { return std::make_shared<BilinearMechanism>(x); }
AttentionMechanismPtr mechanism_of(const Additive& x) { return std::make_shared<AdditiveMechanism>(x); }
AttentionMechanismPtr mechanism_of(const Cosine& x) { return std::make_shared<CosineMechanism>(x); }
AttentionMechanismPtr mechanism_of(const Distance& x) { return std::make_shared<DistanceMechanism>(x); }
AttentionMechanismPtr mechanism_of(const Gaussian& x) { return std::make_shared<GaussianMechanism>(x); }
AttentionMechanismPtr mechanism_of(const Location& x) { return std::make_shared<LocationMechanism>(x); }

Parameter score_vector(const Axis& width) {
  return Parameter({width}, normal(1.0 / std::sqrt(static_cast<double>(width.size))));
}

}  // namespace qkv
