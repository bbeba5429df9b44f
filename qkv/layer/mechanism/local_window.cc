#include "qkv/layer/mechanism/local_window.h"

#include "qkv/attention/local.h"
#include "qkv/attention/mask/around.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/initialise.h"
#include "qkv/layer/mechanism/mechanism_of.h"
#include "qkv/layer/mechanism/score.h"

namespace qkv {
namespace {

class LocalMMechanism final : public MechanismOf<LocalM> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "local-m",
            .help =
                "local attention, monotonic: keys within RADIUS positions of the query's own position "
                "(Luong et al., 2015)",
            .role = Role::local_window,
            .excludes = {Role::local_window},
            .in_self = false};
  }
  Fields fields() const override { return {{"radius", &LocalM::radius, 1, max_distance}}; }
  void add_to_call(AttentionOptions& options, const AttentionPart&,
                   const AttentionCallContext& call) const override {
    if (!call.position) {
      options.mask = options.mask & local_m(value.radius);
      return;
    }
    const Tensor center = Tensor::full({call.q.dim(0), call.q.dim(2)}, static_cast<float>(*call.position));
    options.mask = options.mask & around(center, static_cast<double>(value.radius));
  }
};

class LocalPMechanism final : public MechanismOf<LocalP> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "local-p",
            .help =
                "local attention, predictive: keys within RADIUS positions of a position predicted from the "
                "query, weights times a Gaussian (Luong et al., 2015)",
            .role = Role::local_window,
            .excludes = {Role::local_window},
            .in_self = false};
  }
  Fields fields() const override { return {{"radius", &LocalP::radius, 1, max_distance}}; }
  Parameters parameters(const AttentionSize& size) const override {
    const Axis D(size.head_width, "D");
    return {{"query", Parameter({D, D}, fan_in_uniform)}, {"score", score_vector(D)}};
  }
  void add_to_call(AttentionOptions& options, const AttentionPart& part,
                   const AttentionCallContext& call) const override {
    const PredictedWindow local =
        local_p(call.q, part.parameter(0), part.parameter(1), call.key_lengths, value.radius);
    options.mask = options.mask & local.mask;
    options.reweigh.push_back(local.reweigh);
  }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const LocalM& x) { return std::make_shared<LocalMMechanism>(x); }
AttentionMechanismPtr mechanism_of(const LocalP& x) { return std::make_shared<LocalPMechanism>(x); }

}  // namespace qkv
