// The call of attention() for a case of the groups sdpa, sparse and dtype, and the comparison of its results.
#pragma once

#include <vector>

#include "qkv/attention/modify/relative_buckets.h"
#include "qkv/attention/options.h"
#include "qkv/tensor/dtype.h"
#include "test/golden_test/case.h"

namespace qkv::golden {

MaskPtr mask_given(Case& c);
RelativeBuckets buckets_given(Case& c);
std::vector<ModifierPtr> modifiers_given(Case& c);
NormalizerPtr normalizer_given(Case& c);
// Of the leaves q, k, v: out, weights, lse, and every gradient.
void compare_attention(Case& c, const AttentionOptions& options, DType dtype = DType::f32);
// A case of the group sdpa, computed in a type.
void compare_sdpa(Case& c, DType dtype);

}  // namespace qkv::golden
