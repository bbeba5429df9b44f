#include "qkv/layer/mechanism/rotary.h"

#include <fmt/format.h>

#include "qkv/layer/mechanism/mechanism_of.h"
#include "qkv/op/rotary.h"

namespace qkv {
namespace {

class RotaryMechanism final : public MechanismOf<Rotary> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "rotary",
            .help =
                "rotary position embedding, RoPE: queries and keys are rotated by their positions "
                "(Su et al., 2021)",
            .role = Role::rotation,
            .excludes = {Role::rotation, Role::position_bias},
            .in_cross = false};
  }
  Fields fields() const override { return {{"base", &Rotary::base, 1, 1e9}}; }
  std::string error(const AttentionSize& size) const override {
    if (size.head_width() % 2 == 0) return "";
    return fmt::format("the width of a head must be even, got d-model {} / heads {} = {}", size.d_model, size.heads,
                       size.head_width());
  }
  Variable rotate(const Variable& heads, int64_t first_position) const override {
    return rotary(heads, {.base = value.base, .offset = first_position});
  }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const Rotary& x) { return std::make_shared<RotaryMechanism>(x); }

}  // namespace qkv
