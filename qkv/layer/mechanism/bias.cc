#include "qkv/layer/mechanism/bias.h"

#include "qkv/attention/modify/absolute_bias.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/mechanism/mechanism_of.h"

namespace qkv {
namespace {

constexpr double max_positions = 1024;

class BiasMechanism final : public MechanismOf<Bias> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "bias",
            .help =
                "a learned number for each head and pair of the first POSITIONS positions, added to the scores; "
                "later positions have none",
            .role = Role::modify,
            .in_cross = false};
  }
  Fields fields() const override { return {{"positions", &Bias::positions, 1, max_positions, /*required=*/true}}; }
  Parameters parameters(const AttentionSize& size) const override {
    const Axis N(value.positions, "positions");
    return {{"table", Parameter({Axis(size.heads, "H"), N, N})}};
  }
  void add_to(AttentionOptions& options, const AttentionPart& part) const override {
    options.modify.push_back(absolute_bias(part.parameter(0)));
  }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const Bias& x) { return std::make_shared<BiasMechanism>(x); }

}  // namespace qkv
