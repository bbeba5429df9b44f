#include "qkv/attention/normalize/kernel_weights.h"
#include "qkv/attention/normalize/softmax.h"
#include "test/attention_random_test/drawn_parts.h"

namespace qkv::test {

DrawnNormalizer draw_softmax(Dice& dice, const AttentionShape& n) {
  if (!dice.one_in(4)) return {"softmax", dice.one_in(2) ? softmax() : NormalizerPtr(), reference::softmax()};
  const Variable sink = dice.parameter(dice.normals({n.H}, 2));
  return {"softmax_with_sink", softmax_with_sink(sink), reference::softmax_with_sink(sink), {sink}};
}

DrawnNormalizer draw_kernel(Dice& dice) {
  switch (dice.between(0, 2)) {
    case 0: return {"boxcar", boxcar(), reference::boxcar()};
    case 1: return {"epanechnikov", epanechnikov(), reference::epanechnikov()};
    default: return {"triangular", triangular(), reference::triangular()};
  }
}

DrawnNormalizer draw_constant() { return {"constant", constant(), reference::constant()}; }

}  // namespace qkv::test
