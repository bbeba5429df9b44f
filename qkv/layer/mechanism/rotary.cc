#include "qkv/layer/mechanism/rotary.h"

#include <fmt/format.h>

#include "qkv/base/error.h"
#include "qkv/layer/mechanism/mechanism_of.h"
#include "qkv/layer/mechanism/optional.h"
#include "qkv/op/rotary.h"

namespace qkv {
namespace {

constexpr double max_factor = 1e6, max_head_width = 1 << 16;

class RotaryMechanism final : public MechanismOf<Rotary>, public RotatesHeads {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "rotary",
            .help =
                "rotary position embedding, RoPE: the first WIDTH columns of queries and keys, 0 for all, are "
                "rotated by their positions (Su et al., 2021)",
            .role = Role::rotation,
            .excludes = {Role::rotation, Role::position_bias},
            .in_cross = false};
  }
  Fields fields() const override {
    using S = RotaryScaling;
    const auto scaling = [](std::string_view name, auto S::*member, double minimum = 0,
                            double maximum = 0) -> Field {
      return {name, {&Rotary::scaling, member}, minimum, maximum, /*required=*/false, /*by_name=*/true};
    };
    return {{"base", &Rotary::base, 1, 1e9},
            {"width", &Rotary::width, 0, max_head_width},
            {"interleaved", &Rotary::interleaved, 0, 0, /*required=*/false, /*by_name=*/true},
            scaling("scaling", &S::type),
            scaling("factor", &S::factor, 1e-3, max_factor),
            scaling("original-positions", &S::original_positions, 0, max_distance),
            scaling("length", &S::length, 0, max_distance),
            scaling("attention-factor", &S::attention_factor, 0, 1e3),
            scaling("low-frequency-factor", &S::low_frequency_factor, 1e-3, max_factor),
            scaling("high-frequency-factor", &S::high_frequency_factor, 1e-3, max_factor),
            scaling("beta-fast", &S::beta_fast, 1e-3, max_factor),
            scaling("beta-slow", &S::beta_slow, 1e-3, max_factor),
            scaling("truncate", &S::truncate),
            scaling("mscale", &S::mscale, 0, 1e3),
            scaling("mscale-all-dim", &S::mscale_all_dim, 0, 1e3),
            scaling("short", &S::short_factors, 1e-3, max_factor),
            scaling("long", &S::long_factors, 1e-3, max_factor)};
  }
  std::string error(const AttentionSize& size) const override {
    const int64_t D = size.head_width;
    if (value.width > D || value.width % 2 != 0)
      return fmt::format("width must be even and at most that of a head, {}, got {}", D, value.width);
    if (D % 2 != 0 && (value.width == 0 || value.scaling.type == RotaryScalingType::proportional))
      return fmt::format("the width of a head must be even, got {}",
                         D * size.heads == size.d_model
                             ? fmt::format("d-model {} / heads {} = {}", size.d_model, size.heads, D)
                             : fmt::format("head-width {}", D));
    return rotary_scaling_error(value.base, width_of(D), value.scaling);
  }
  Variable rotate(const Variable& heads, int64_t first_position) const override {
    const int64_t D = heads.dim(3);
    const RotaryFrequencies f =
        rotary_frequencies(value.base, width_of(D), scaling_of(first_position, first_position + heads.dim(2)), D);
    return rotary(heads, {.interleaved = value.interleaved,
                          .offset = first_position,
                          .width = 2 * std::ssize(f.frequencies),
                          .frequencies = f.frequencies,
                          .multiplier = f.multiplier});
  }
  bool depends_on_length() const override {
    return value.scaling.length == 0 && qkv::depends_on_length(value.scaling.type);
  }
  // LongRoPE has other angles in sequences that are longer than those of its training.
  std::optional<int64_t> cache_valid_until() const override {
    if (value.scaling.type != RotaryScalingType::longrope || !depends_on_length()) return {};
    return value.scaling.original_positions;
  }

 private:
  // For a sequence of n positions, of which the first ones may be in a cache.
  RotaryScaling scaling_of(int64_t cached, int64_t n) const {
    RotaryScaling scaling = value.scaling;
    if (!depends_on_length()) return scaling;
    require<InputError>(scaling.type != RotaryScalingType::longrope || cached == 0 ||
                            n <= scaling.original_positions || cached > scaling.original_positions,
                        "rotary",
                        "a sequence of {} cached positions grows beyond {}, which changes all of its angles: "
                        "begin with the longer text, or give the rotary mechanism a length",
                        cached, scaling.original_positions);
    scaling.length = n;
    return scaling;
  }
  int64_t width_of(int64_t head_width) const { return value.width == 0 ? head_width : value.width; }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const Rotary& x) { return std::make_shared<RotaryMechanism>(x); }

}  // namespace qkv
