// The reweightings of qkv/attention/reweigh/ by their formulas, and that of local_p() in qkv/attention/local.h.
//
//     ReferenceCall call = {.q = q, .k = k, .v = v, .reweigh = {reference::gaussian_window(p, 1.5)}};
#pragma once

#include "qkv/attention/reweigh/reweigher.h"
#include "qkv/test_support/reference/part.h"

namespace qkv::test::reference {

ReweigherRecipe factors(const Values& table);                            // (B,H,T,S), given: dropout
ReweigherRecipe gaussian_window(const Values& positions, double sigma);  // positions (B,H,T)
// The Gaussian window of local_p(): positions L sigmoid(v_p . tanh(w_p q)), lengths L (B).
ReweigherRecipe local_p(const Values& w_p, const Values& v_p, const Values& lengths, int64_t window);

// The factors of a reweigher without parameters, for factors().
Values factors_of(const Reweigher& reweigher, const AttentionShape& shape);

}  // namespace qkv::test::reference
