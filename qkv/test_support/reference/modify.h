// The score modifications of qkv/attention/modify/ by their formulas.
//
//     ReferenceCall call = {.q = q, .k = k, .v = v, .modify = {reference::softcap(30), reference::alibi(slopes)}};
#pragma once

#include "qkv/attention/modify/relative_buckets.h"
#include "qkv/test_support/reference/part.h"

namespace qkv::test::reference {

ModifierRecipe softcap(double cap);
ModifierRecipe bias(const Values& numbers);  // (B,H,T,S), any axis of length 1
ModifierRecipe alibi(const Values& slopes);
ModifierRecipe relative_bias(const Values& table, const RelativeBuckets& buckets);
ModifierRecipe absolute_bias(const Values& table);  // (H,N,N)
ModifierRecipe falcon_alibi(const std::vector<float>& slopes, float scale);
ModifierRecipe first_block_bias(int64_t block, int64_t copies);

}  // namespace qkv::test::reference
