// Attention by its formula, forward and backward, pair by pair, with nothing fused: in float64 it is exact, in the type
// of the inputs it measures how much error a plain computation makes.
//
//     attention(Q, K, V) = reweigh( normalize( mask( modify( score(Q, K) ) ) ) ) V
//
//     const ReferenceResult wanted = reference_attention({.q = q, .k = k, .v = v, .dout = dout,
//                                                         .modify = {reference::softcap(30)},
//                                                         .visible = [](auto, auto, auto i, auto j) { return j <= i; }});
//     expect_close(out, wanted.out.values, 2e-6, "out");
//     expect_close(slopes.grad(), wanted.parameters[0].values, 1e-5, "gradient of the slopes");
//
// q (B,H,T,D), k (B,G,S,Dk), v (B,G,S,E), dout (B,H,T,E), or empty: forward alone. A query without visible keys has
// zeros and lse = -infinity.
#pragma once

#include <vector>

#include "qkv/test_support/reference/modify.h"
#include "qkv/test_support/reference/normalize.h"
#include "qkv/test_support/reference/reweigh.h"
#include "qkv/test_support/reference/score.h"
#include "qkv/test_support/visible_rule.h"

namespace qkv::test {

struct ReferenceCall {
  reference::Values q, k, v, dout = {};
  reference::ScoreRecipe score = reference::scaled_dot();
  std::vector<reference::ModifierRecipe> modify = {};
  VisibleRule visible = {};  // empty: every pair
  reference::NormalizerRecipe normalize = reference::softmax();
  std::vector<reference::ReweigherRecipe> reweigh = {};

  AttentionShape shape() const;  // D is the width of the queries
};

enum class Precision {
  float64,
  float32,
  bfloat16,  // sums in float32, everything that is stored between two steps in bfloat16
  // float64, with an estimate of the errors that float32 and bfloat16 would make
  float64_and_float32_error,
  float64_and_bfloat16_error,
};

struct ReferenceTensor {
  std::vector<double> values;
  double error = 0;  // one standard deviation, the largest of the tensor; 0 unless asked for
};

struct ReferenceResult {
  ReferenceTensor out, weights, lse, dq, dk, dv;
  // Gradients: of the score, of the modifiers, of the normalizer, of the reweighers; each in the order of its
  // arguments.
  std::vector<ReferenceTensor> parameters = {};
};

ReferenceResult reference_attention(const ReferenceCall& call, Precision precision = Precision::float64);

}  // namespace qkv::test
