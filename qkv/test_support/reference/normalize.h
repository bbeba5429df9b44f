// The normalizations of qkv/attention/normalize/ by their formulas. Kernels are functions of the score s = -u^2 / 2.
//
//     ReferenceCall call = {.q = q, .k = k, .v = v, .normalize = reference::softmax_with_sink(sink)};
#pragma once

#include "qkv/test_support/reference/part.h"

namespace qkv::test::reference {

NormalizerRecipe softmax();
NormalizerRecipe softmax_with_sink(const Values& sink);  // (H)
NormalizerRecipe boxcar();
NormalizerRecipe epanechnikov();
NormalizerRecipe triangular();
NormalizerRecipe constant();

}  // namespace qkv::test::reference
