#include "qkv/layer/mechanism/position_bias.h"

#include <fmt/format.h>

#include "qkv/attention/modify/alibi.h"
#include "qkv/attention/modify/relative_bias.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/mechanism/mechanism_of.h"

namespace qkv {
namespace {

class AlibiMechanism final : public MechanismOf<Alibi> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "alibi",
            .help = "ALiBi: scores decrease linearly with the distance, with a slope per head (Press et al., 2022)",
            .role = Role::position_bias,
            .excludes = {Role::rotation, Role::position_bias},
            .in_cross = false};
  }
  void add_to(AttentionOptions& options, const AttentionPart& part) const override {
    options.modify.push_back(alibi(alibi_slopes(part.size().heads)));
  }
};

class RelativeBiasMechanism final : public MechanismOf<RelativeBias> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "relative-bias",
            .help =
                "relative position bias of T5: a learned bias per head and bucket of distances "
                "(Raffel et al., 2020)",
            .role = Role::position_bias,
            .excludes = {Role::rotation, Role::position_bias},
            .in_cross = false};
  }
  Fields fields() const override {
    return {{"buckets", &RelativeBias::buckets, 4, 1024},
            {"max-distance", &RelativeBias::max_distance, 3, qkv::max_distance},
            {.name = "shared", .member = &RelativeBias::shared, .by_name = true}};
  }
  // Half of the buckets of a direction hold one distance each, the others logarithmically more.
  std::string error(const AttentionSize&) const override {
    if (value.max_distance <= value.buckets / 2)
      return fmt::format("max-distance must be more than half of the {} buckets, got {}", value.buckets,
                         value.max_distance);
    return "";
  }
  Parameters parameters(const AttentionSize& size) const override {
    return {{"table", Parameter({Axis(value.buckets, "buckets"), Axis(size.heads, "H")})}};
  }
  bool shares_parameters() const override { return value.shared; }
  void add_to(AttentionOptions& options, const AttentionPart& part) const override {
    options.modify.push_back(
        relative_bias(part.parameter(0), {.bidirectional = part.size().use != AttentionUse::decoder,
                                          .num_buckets = value.buckets,
                                          .max_distance = value.max_distance}));
  }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const Alibi& x) { return std::make_shared<AlibiMechanism>(x); }
AttentionMechanismPtr mechanism_of(const RelativeBias& x) { return std::make_shared<RelativeBiasMechanism>(x); }

}  // namespace qkv
