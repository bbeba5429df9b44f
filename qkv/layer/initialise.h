// Initial values of parameters: functions of the seed and the parameter's name, so that they do not depend on the
// parameters beside it.
//
//     Parameter weight({{out, "C"}, {in, "F"}}, fan_in_uniform);
//     weight.initialise(/*seed=*/1, "encoder.layers.0.feed_forward.down.weight");
#pragma once

#include "qkv/layer/module.h"

namespace qkv {

// A matrix (out, in), uniform in +- 1 / sqrt(in) (LeCun et al., "Efficient BackProp", 1998). Residual branches begin
// small that way: a Transformer learns faster than from Xavier's bounds, and post-LN learns at all at large rates
// (doc/first_training.md).
void fan_in_uniform(Variable& parameter, uint64_t seed, const std::string& name);

// Normal with the given standard deviation.
Parameter::Initialise normal(double deviation);

}  // namespace qkv
