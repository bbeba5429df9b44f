// Calls for the tests of scores, and their reference.
//
//     for (const ScoreCall& call : score_calls(3, 5))
//       check_op("bilinear", call.inputs(), op, call.formula([](const Doubles& x) { return reference::bilinear(...); }));
#pragma once

#include <functional>
#include <vector>

#include "qkv/attention/mask/causal.h"
#include "qkv/test_support/check_attention.h"

namespace qkv::test {

using MakeScore = std::function<reference::ScoreRecipe(const Doubles& x)>;

struct ScoreCall {
  AttentionShape n;  // D is the width of the queries
  int64_t key_width;
  bool is_causal = false;

  std::vector<Tensor> inputs() const {
    return {random_tensor({n.B, n.H, n.T, n.D}, 1), random_tensor({n.B, n.G, n.S, key_width}, 2),
            random_tensor({n.B, n.G, n.S, n.E}, 3)};
  }
  MaskPtr mask() const { return is_causal ? causal() : MaskPtr(); }

  // The output as a function of q, k, v and the parameters of the score: a formula for check_op().
  Formula formula(const MakeScore& score) const {
    return [=, *this](const Doubles& x) {
      ReferenceCall call = reference_call(n, x);
      call.score = score(x);
      if (is_causal) call.visible = causal_rule(n);
      return reference_attention(call).out.values;
    };
  }
};

// One pair; partial blocks; more queries than keys (if causal, some see no key); several tiles.
inline std::vector<ScoreCall> score_calls(int64_t D, int64_t key_width) {
  return {{{1, 1, 1, 1, 1, D, 1}, key_width},
          {{2, 2, 1, 3, 4, D, 2}, key_width},
          {{1, 4, 2, 5, 4, D, 3}, key_width, true},
          {{1, 2, 1, 3, 140, D, 2}, key_width, true}};
}

}  // namespace qkv::test
