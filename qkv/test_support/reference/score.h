// The scores of qkv/attention/score/ by their formulas; parameters in the order of the arguments.
//
//     ReferenceCall call = {.q = q, .k = k, .v = v, .score = reference::additive(w_q, w_k, w_v)};
#pragma once

#include "qkv/test_support/reference/part.h"

namespace qkv::test::reference {

ScoreRecipe scaled_dot();
ScoreRecipe dot(double scale = 1);
ScoreRecipe cosine(double scale);
ScoreRecipe cosine(double scale, const Values& gain);
ScoreRecipe bilinear(const Values& m);
ScoreRecipe location(const Values& w);
ScoreRecipe distance();
ScoreRecipe gaussian(const Values& sigma);
ScoreRecipe additive(const Values& w_q, const Values& w_k, const Values& w_v);
ScoreRecipe concat(const Values& w, const Values& w_v);

}  // namespace qkv::test::reference
