#include "qkv/model/position_mechanism.h"

namespace qkv {

AttentionVariant mechanism_of_positions(Positions positions) {
  switch (positions) {
    case Positions::rotary: return Rotary{};
    case Positions::alibi: return Alibi{};
    case Positions::relative_bias: return RelativeBias{};
    case Positions::sinusoidal:
    case Positions::learned:
    case Positions::none: break;
  }
  return {};
}

AttentionVariant with_positions(AttentionVariant variant, Positions positions) {
  const AttentionVariant added = mechanism_of_positions(positions);
  for (const AttentionMechanismPtr& mechanism : added.mechanisms()) variant.add(mechanism, "positions");
  return variant;
}

}  // namespace qkv
