#include "qkv/layer/mechanism/falcon_alibi.h"

#include <cmath>

#include "qkv/attention/modify/alibi.h"
#include "qkv/attention/modify/falcon_alibi.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/mechanism/mechanism_of.h"

namespace qkv {
namespace {

class FalconAlibiMechanism final : public MechanismOf<FalconAlibi> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "falcon-alibi",
            .help = "ALiBi of Falcon: rounded to bf16, and divided by the root of the head width as the scores are",
            .role = Role::position_bias,
            .excludes = {Role::rotation, Role::position_bias},
            .in_cross = false};
  }
  void add_to(AttentionOptions& options, const AttentionPart& part) const override {
    const double width = static_cast<double>(part.size().head_width);
    options.modify.push_back(
        falcon_alibi(alibi_slopes(part.size().heads), static_cast<float>(1 / std::sqrt(width))));
  }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const FalconAlibi& x) { return std::make_shared<FalconAlibiMechanism>(x); }

}  // namespace qkv
