// Plots of what attention and models cost: FLOPs, bytes, FLOP per byte, memory and times by size, on logarithmic axes.
//
//     comparison_curves(compare_attention({.work = work, .sweep = "length"})).save("compare.svg");    // or .png, .html
//     growth_curves(attention_growth(work)).save("growth.svg");
//     growth_curves(model_growth(config)).save("growth.svg");
#pragma once

#include <vector>

#include "qkv/measure/attention_comparison.h"
#include "qkv/model/model_cost.h"
#include "qkv/picture/curves.h"

namespace qkv {

// A color for each mechanism.
Curves comparison_curves(const AttentionComparison& comparison);
// A color for each size, by the factor by which it is larger than given.
Curves growth_curves(const std::vector<AttentionGrowth>& growth);
Curves growth_curves(const std::vector<ModelGrowth>& growth);

}  // namespace qkv
