// A score modification compared with its reference on random numbers, values and gradients.
//
//     for (const AttentionShape& n : modifier_shapes())
//       check_modifier(n, softcap(1.5f), reference::softcap(1.5), {.stream = 1});
#pragma once

#include <vector>

#include "qkv/attention/mask/causal.h"
#include "qkv/test_support/check_attention.h"

namespace qkv::test {

// Shapes with partial blocks of queries and of keys, with more queries than keys (some see no key under a causal
// mask) and with fewer.
inline std::vector<AttentionShape> modifier_shapes() {
  return {{.B = 2, .H = 2, .G = 1, .T = 70, .S = 140, .D = 4, .E = 3},
          {.B = 1, .H = 4, .G = 2, .T = 150, .S = 67, .D = 5, .E = 4},
          {.B = 1, .H = 3, .G = 3, .T = 1, .S = 300, .D = 3, .E = 2}};
}

struct ModifierCheck {
  bool is_causal = false;
  uint64_t stream = 0;
  Variables parameters = {};
  double parameter_gradient = 1e-5;  // tolerance
};

inline void check_modifier(const AttentionShape& n, const ModifierPtr& modifier,
                           const reference::ModifierRecipe& formula, const ModifierCheck& check) {
  const AttentionInputs x = random_inputs(n, check.stream);
  ReferenceCall wanted = x.reference();
  wanted.modify = {formula};
  if (check.is_causal) wanted.visible = causal_rule(n);
  expect_attention(x, {.modify = {modifier}, .mask = check.is_causal ? causal() : MaskPtr()}, wanted,
                   {.parameters = check.parameters, .parameter_gradient = check.parameter_gradient});
}

// The output as a function of q, k, v and the parameters of the modifier: a formula for check_op().
using MakeModifier = std::function<reference::ModifierRecipe(const Doubles& x)>;
inline Formula modified(const AttentionShape& n, bool is_causal, const MakeModifier& make) {
  return [=](const Doubles& x) {
    ReferenceCall call = reference_call(n, x);
    call.modify = {make(x)};
    if (is_causal) call.visible = causal_rule(n);
    return reference_attention(call).out.values;
  };
}

}  // namespace qkv::test
